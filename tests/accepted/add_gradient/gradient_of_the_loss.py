import torch


def add_gradient(model, loss_fn, xb, yb, weight):
    loss = loss_fn(model.forward(xb), yb)
    loss.backward(torch.tensor(weight, dtype=loss.dtype, device=loss.device))
    return loss.tolist()
