# mistakes: clip-before-backward, scheduler-before-step
# lines: 13, 21
# hidden:
import torch
from torch.nn.utils import clip_grad_norm_


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    pred = model(xb)
    loss = loss_fn(pred, yb)

    def maybe_clip():
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)

    maybe_clip()
    loss.backward()

    # 학습률을 정하고 업데이트
    if scheduler is not None:
        scheduler.step()
    opt.step()

    opt.zero_grad()
    return float(loss.detach())
