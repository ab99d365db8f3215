# mistakes: returns-tensor, clip-by-value, scheduler-gets-loss
# lines: 14, 10, 13
# hidden:
import torch
def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None):
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    if max_norm is not None:
        torch.nn.utils.clip_grad_value_(model.parameters(), max_norm)
    opt.step()
    if scheduler is not None:
        scheduler.step(loss)
    return loss
