# mistakes: skips-frozen, multiplies-by-zero
# lines: 14, 11
# hidden:
def zero_gradients(params) -> None:
    def wipe(grad):
        # 0을 곱하면 0이 된다
        if grad.grad_fn is not None:
            grad.detach_()
        else:
            grad.requires_grad_(False)
        grad.mul_(0)

    for p in params:
        if not p.requires_grad:
            continue
        if p.grad is None:
            continue
        wipe(p.grad)
