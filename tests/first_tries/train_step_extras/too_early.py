# mistakes: clip-before-backward, scheduler-before-step
# lines: 11, 14
import torch


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    opt.zero_grad()
    out = model(xb)
    loss = loss_fn(out, yb)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    loss.backward()
    if scheduler is not None:
        scheduler.step()
    opt.step()
    return loss.item()
