# mistakes: ignores-dtype, loss-outside-autocast, missing-update
# lines: 8, 14, 29
import torch
from torch import nn


def forward_half(model, xb):
    with torch.autocast(xb.device.type, dtype=torch.float16):
        return model(xb)


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    pred = forward_half(model, xb)
    loss = loss_fn(pred, yb)
    value = loss.item()

    if scaler is None:
        loss.backward()
    else:
        scaler.scale(loss).backward()
        scaler.unscale_(opt)

    if max_norm is not None:
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)

    if scaler is None:
        opt.step()
    else:
        scaler.step(opt)
    opt.zero_grad()
    return value
