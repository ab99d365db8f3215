import torch
from torch import nn


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    params = [p for group in opt.param_groups for p in group["params"]]
    if max_norm is not None:
        flat = nn.utils.parameters_to_vector([p.grad for p in params])
        factor = min(1.0, max_norm / (flat.norm().item() + 1e-6))
        with torch.no_grad():
            for p in params:
                p.grad.mul_(factor)
    opt.step()
    if scheduler is not None:
        scheduler.step()
    return loss.item()
