import torch
from torch import amp


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None):
    device = next(model.parameters()).device.type
    with amp.autocast(device, dtype):
        out = model(xb)
        loss = loss_fn(out, yb)
    scaled = loss if scaler is None else scaler.scale(loss)
    scaled.backward()
    if scaler is not None:
        scaler.unscale_(opt)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm, foreach=True)
    (opt.step if scaler is None else lambda: scaler.step(opt))()
    if scaler is not None:
        scaler.update()
    opt.zero_grad(set_to_none=False)
    return float(loss.detach())
