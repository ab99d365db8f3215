# mistakes: clip-after-step, scheduler-before-step
# lines: 13, 10
# hidden:
import torch
def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None):
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    if scheduler:
        scheduler.step()
    opt.step()
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    return loss.item()
