# expect: skips-frozen
def zero_gradients(params):
    for p in filter(lambda q: q.requires_grad, params):
        p.grad = None
