# mistakes: scheduler-before-step, clip-per-parameter
# lines: 8, 14
import torch.nn as nn


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    if scheduler is not None:
        scheduler.step()
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    if max_norm is not None:
        for p in model.parameters():
            nn.utils.clip_grad_norm_(p, max_norm)
    opt.step()
    return loss.item()
