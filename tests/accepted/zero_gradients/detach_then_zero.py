def zero_gradients(params):
    for param in list(params):
        if param.grad is None:
            continue
        if param.grad.grad_fn is not None:
            param.grad.detach_()
        else:
            param.grad.requires_grad_(False)
        param.grad.zero_()
