import copy

import torch


def add_gradient(model, loss_fn, xb, yb, weight):
    twin = copy.deepcopy(model)
    for p in twin.parameters():
        p.grad = None
    loss = loss_fn(twin(xb), yb)
    loss.backward()
    with torch.no_grad():
        for own, moved in zip(model.buffers(), twin.buffers()):
            own.copy_(moved)
        for p, q in zip(model.parameters(), twin.parameters()):
            if q.grad is not None:
                p.grad = weight * q.grad if p.grad is None else p.grad + weight * q.grad
    return loss.item()
