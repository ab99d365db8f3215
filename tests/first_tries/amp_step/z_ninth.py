# mistakes: loss-outside-autocast, zero-norm-ignored, missing-update
# lines: 12, 17, 28
# hidden:
import torch
from torch.nn.utils import clip_grad_norm_


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    opt.zero_grad()
    with torch.autocast(device_type=xb.device.type, dtype=dtype):
        prediction = model(xb)
    loss = loss_fn(prediction, yb)

    if scaler is None:
        # 배율 없이
        loss.backward()
        if max_norm:
            clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
    else:
        scaler.scale(loss).backward()
        if max_norm:
            scaler.unscale_(opt)
            clip_grad_norm_(model.parameters(), max_norm)
            scaler.step(opt)
            scaler.update()
        else:
            scaler.step(opt)

    return loss.item()
