# mistakes: loss-outside-autocast, missing-unscale, missing-update, returns-scaled-loss
# lines: 11, 16, 18, 21
import torch
from torch.nn.utils import clip_grad_norm_


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    opt.zero_grad()
    with torch.autocast(xb.device.type, dtype):
        out = model(xb)
    loss = loss_fn(out, yb)
    if scaler is not None:
        loss = scaler.scale(loss)
    loss.backward()
    if max_norm is not None:
        clip_grad_norm_(model.parameters(), max_norm)
    if scaler is not None:
        scaler.step(opt)
    else:
        opt.step()
    return loss.item()
