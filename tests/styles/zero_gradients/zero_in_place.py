def zero_gradients(params) -> None:
    for p in params:
        if p.grad is not None:
            p.grad.zero_()
