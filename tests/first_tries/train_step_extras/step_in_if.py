# mistakes: forces-train-mode, clip-by-value, step-only-when-clipping, returns-tensor
# lines: 7, 14, 15, 20
from torch import nn


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    model.train()
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()

    # 클리핑
    if max_norm is not None:
        nn.utils.clip_grad_value_(model.parameters(), max_norm)
        opt.step()

    # 스케줄러
    if scheduler is not None:
        scheduler.step()
    return loss.detach()
