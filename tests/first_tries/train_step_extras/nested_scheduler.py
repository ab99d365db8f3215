# mistakes: missing-zero-grad, clip-per-parameter, scheduler-only-when-clipping
# lines: 10, 14, 16
import torch
from torch import nn


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    y_hat = model(xb)
    loss = loss_fn(y_hat, yb)
    loss.backward()
    if max_norm is not None:
        for w in model.parameters():
            if w.grad is not None:
                nn.utils.clip_grad_norm_(w, max_norm)
        opt.step()
        if scheduler is not None:
            scheduler.step()
    else:
        opt.step()
    return loss.detach().item()
