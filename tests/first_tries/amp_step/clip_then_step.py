# mistakes: missing-unscale|clip-before-unscale, clips-only-with-scaler, returns-tensor
# lines: 16, 21, 22
import torch
from torch.nn.utils import clip_grad_norm_


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    with torch.autocast(device_type=xb.device.type, dtype=dtype):
        out = model(xb)
        loss = loss_fn(out, yb)

    opt.zero_grad()
    if scaler is not None:
        scaler.scale(loss).backward()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(opt)
        scaler.update()
    else:
        loss.backward()
        opt.step()
    return loss
