# mistakes: max-norm-not-optional, scheduler-not-optional, returns-tensor
# lines: 11, 13, 14
import torch


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    opt.zero_grad()
    logits = model(xb)
    loss = loss_fn(logits, yb)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    opt.step()
    scheduler.step()
    return loss
