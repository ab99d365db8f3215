# mistakes: clip-by-value, scheduler-before-step
# lines: 14, 17
import torch
from torch.nn.utils import clip_grad_value_


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    opt.zero_grad()
    output = model(xb)
    loss = loss_fn(output, yb)
    loss.backward()

    if max_norm is not None:
        clip_grad_value_(model.parameters(), max_norm)

    if scheduler is not None:
        scheduler.step()
    opt.step()
    return loss.item()
