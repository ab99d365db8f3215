# mistakes: skips-frozen, multiplies-by-zero
# lines: 6, 9
# hidden:
def zero_gradients(params) -> None:
    for p in params:
        if not p.requires_grad:
            continue
        if p.grad is not None:
            p.grad *= 0
