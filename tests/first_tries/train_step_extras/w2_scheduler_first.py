# mistakes: scheduler-before-step, clip-per-parameter, returns-tensor
# lines: 9, 16, 18
# hidden:
import torch


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None):
    if scheduler is not None:
        scheduler.step()
    opt.zero_grad()
    out = model(xb)
    loss = loss_fn(out, yb)
    loss.backward()
    if max_norm is not None:
        for p in model.parameters():
            torch.nn.utils.clip_grad_norm_(p, max_norm)
    opt.step()
    return loss
