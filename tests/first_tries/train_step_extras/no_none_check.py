# mistakes: clip-before-backward|no-clip|clip-after-step, scheduler-not-optional, returns-tensor
# lines: 11, 14, 15
import torch


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None):
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    if max_norm is not None:
        # 그래디언트 폭발 방지
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    loss.backward()
    opt.step()
    scheduler.step()
    return loss
