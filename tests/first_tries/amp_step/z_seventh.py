# mistakes: missing-unscale|clip-before-unscale
# lines: 24
# hidden:
import torch
from torch import nn


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    def clip():
        if max_norm is None:
            return
        params = [p for group in opt.param_groups for p in group["params"]]
        nn.utils.clip_grad_norm_(params, max_norm)

    opt.zero_grad()
    with torch.autocast(device_type=xb.device.type, dtype=dtype):
        loss = loss_fn(model(xb), yb)

    if scaler is None:
        loss.backward()
        clip()
        opt.step()
    else:
        scaler.scale(loss).backward()
        clip()
        scaler.step(opt)
        scaler.update()

    return loss.item()
