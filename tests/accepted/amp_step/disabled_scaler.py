import torch
from torch.nn.utils import clip_grad_norm_


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    where = xb.device.type
    if scaler is None:
        scaler = torch.amp.GradScaler(where, enabled=False)
    autocast = torch.autocast(where, dtype=dtype)
    loss = autocast(lambda: loss_fn(model(xb), yb))()
    opt.zero_grad()
    scaler.scale(loss).backward()
    if max_norm is not None:
        scaler.unscale_(opt)
        clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(opt)
    scaler.update()
    return loss.item()
