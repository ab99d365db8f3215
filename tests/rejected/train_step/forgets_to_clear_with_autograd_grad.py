# expect: missing-zero-grad
import torch


def train_step(model, opt, loss_fn, xb, yb):
    loss = loss_fn(model(xb), yb)
    params = list(model.parameters())
    for p, g in zip(params, torch.autograd.grad(loss, params)):
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        p.grad += g
    opt.step()
    return loss.detach().item()
