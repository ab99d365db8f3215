# mistakes: skips-frozen, multiplies-by-zero
# lines: 4, 7
def zero_gradients(params) -> None:
    trainable = [p for p in params if p.requires_grad]
    for p in trainable:
        if p.grad is not None:
            p.grad.mul_(0)
