# mistakes: clip-by-value, scheduler-only-when-clipping, returns-tensor
# lines: 12, 14, 18
import torch
from torch.nn.utils import clip_grad_value_


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    if max_norm is not None:
        clip_grad_value_(model.parameters(), max_norm)
        opt.step()
        if scheduler is not None:
            scheduler.step()
    else:
        opt.step()
    return loss.detach()
