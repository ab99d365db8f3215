def sgd_update(params, lr):
    for p in params:
        if p.grad is None: continue
        p.data = p.data - lr * p.grad.data
