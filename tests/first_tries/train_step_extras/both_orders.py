# mistakes: scheduler-before-step, clip-after-step|no-clip|clip-before-backward
# lines: 14, 17
import torch
from torch.nn.utils import clip_grad_norm_


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None):
    opt.zero_grad(set_to_none=True)
    preds = model(xb)
    loss = loss_fn(preds, yb)
    loss.backward()

    if scheduler is not None:
        scheduler.step()
    opt.step()
    if max_norm is not None:
        clip_grad_norm_(model.parameters(), max_norm)

    return float(loss.detach())
