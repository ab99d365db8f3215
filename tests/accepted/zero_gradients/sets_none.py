def zero_gradients(params):
    for p in params:
        p.grad = None
