# expect: 
def zero_gradients(params):
    for p in params:
        p.requires_grad_(False)
        p.grad = None
        p.requires_grad_(True)
