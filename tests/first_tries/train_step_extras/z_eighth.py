# mistakes: scheduler-before-step
# lines: 14
# hidden:
import torch


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    logits = model(xb)
    loss = loss_fn(logits, yb)
    loss.backward()
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    if scheduler is not None:
        scheduler.step()
    opt.step()
    opt.zero_grad()
    return loss.item()
