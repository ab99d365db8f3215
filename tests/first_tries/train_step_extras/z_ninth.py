# mistakes: scheduler-only-when-clipping, clip-per-parameter, clears-only-without-clipping
# lines: 14, 18, 19
# hidden:
import torch
from torch.nn.utils import clip_grad_norm_


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    loss = loss_fn(model(xb), yb)
    loss.backward()

    if max_norm is None:
        # 클리핑 없이 그냥 한 스텝
        opt.step()
        opt.zero_grad()
    else:
        for p in model.parameters():
            clip_grad_norm_([p], max_norm)
        opt.step()
        if scheduler is not None:
            scheduler.step()

    return loss.item()
