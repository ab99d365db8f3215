import torch
from torch.func import functional_call, grad_and_value


def train_step(model, opt, loss_fn, xb, yb):
    params = dict(model.named_parameters())
    buffers = dict(model.named_buffers())

    def compute_loss(params, buffers):
        return loss_fn(functional_call(model, (params, buffers), (xb,)), yb)

    values = {name: p.detach() for name, p in params.items()}
    grads, loss = grad_and_value(compute_loss)(values, buffers)
    for name, p in params.items():
        p.grad = grads[name]
    opt.step()
    return loss.item()
