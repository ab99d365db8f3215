def sgd_update(params, lr):
    for p in params:
        if p.grad is not None:
            p.data -= lr * p.grad
