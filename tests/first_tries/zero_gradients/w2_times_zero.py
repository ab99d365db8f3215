# mistakes: skips-frozen, multiplies-by-zero
# lines: 6, 7
# hidden:
def zero_gradients(params) -> None:
    for p in params:
        if p.requires_grad and p.grad is not None:
            p.grad *= 0
