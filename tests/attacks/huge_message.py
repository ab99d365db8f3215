def first(model, opt, xb):
    raise ValueError("x" * 10**8)
