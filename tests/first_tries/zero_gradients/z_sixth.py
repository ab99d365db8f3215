# mistakes: multiplies-by-zero, skips-frozen
# lines: 6, 8
# hidden:
def zero_gradients(params) -> None:
    def wipe(gradient):
        gradient.detach().mul_(0)

    learnable = filter(lambda p: p.requires_grad, params)
    for p in learnable:
        if p.grad is not None:
            wipe(p.grad)
