# mistakes: clip-before-unscale|missing-unscale, missing-update, returns-scaled-loss
# lines: 19, 22, 15
# hidden:
import torch
from torch.nn.utils import clip_grad_norm_


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    opt.zero_grad()
    with torch.autocast(device_type=xb.device.type, dtype=dtype):
        pred = model(xb)
        loss = loss_fn(pred, yb)

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
