# mistakes: clip-before-unscale, missing-update
# lines: 21, 23
import torch
from torch.nn.utils import clip_grad_norm_


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    opt.zero_grad()
    with torch.autocast(xb.device.type, dtype=dtype):
        loss = loss_fn(model(xb), yb)

    if scaler is None:
        loss.backward()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        return loss.item()

    scaler.scale(loss).backward()
    if max_norm is not None:
        clip_grad_norm_(model.parameters(), max_norm)
    scaler.unscale_(opt)
    scaler.step(opt)
    return loss.item()
