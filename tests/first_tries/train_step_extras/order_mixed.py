# mistakes: clip-before-backward, scheduler-before-step, returns-tensor
# lines: 11, 14, 16
from torch.nn.utils import clip_grad_norm_


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    opt.zero_grad()
    pred = model(xb)
    loss = loss_fn(pred, yb)
    if max_norm is not None:
        clip_grad_norm_(model.parameters(), max_norm)
    loss.backward()
    if scheduler is not None:
        scheduler.step()
    opt.step()
    return loss
