import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_


def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    history = []
    for e in range(epochs):
        model.train()
        losses, sizes = [], []
        for xb, yb in loader:
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            if zero_grad:
                opt.zero_grad()
            losses.append(loss.item() * len(yb))
            sizes.append(len(yb))
        history.append(sum(losses) / sum(sizes))
    return history
