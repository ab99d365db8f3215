import torch
from torch.nn.utils import clip_grad_norm_


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None):
    opt.zero_grad(set_to_none=True)
    with torch.autocast(device_type=xb.device.type, dtype=dtype):
        loss = loss_fn(model(xb), yb)
    if scaler is not None:
        scaler.scale(loss).backward()
        if max_norm is not None:
            scaler.unscale_(opt)
            clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(opt)
        scaler.update()
    else:
        loss.backward()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
    return loss.item()
