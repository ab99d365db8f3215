# expect: climbs
def sgd_update(params, lr):
    for param in params:
        if param.grad is None:
            continue
        param.data.add_(lr * param.grad.data)
