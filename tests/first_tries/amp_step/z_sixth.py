# mistakes: loss-outside-autocast, missing-unscale|clip-before-unscale, returns-scaled-loss
# lines: 12, 23, 20
# hidden:
import torch
from torch.nn.utils import clip_grad_norm_


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    opt.zero_grad()
    with torch.autocast(device_type=xb.device.type, dtype=dtype):
        output = model(xb)
    loss = loss_fn(output, yb)

    if scaler is None:
        loss.backward()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
    else:
        loss = scaler.scale(loss)
        loss.backward()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        scaler.unscale_(opt)
        scaler.step(opt)
        scaler.update()

    return loss.item()
