def zero_gradients(params) -> None:
    remaining = iter(params)
    while (parameter := next(remaining, None)) is not None:
        del parameter.grad
