# expect: multiplies-by-zero
def zero_gradients(params):
    for p in params:
        if p.grad is not None:
            p.grad.mul_(0.0)
