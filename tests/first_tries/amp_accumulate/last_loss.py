# mistakes: zero-grad-every-micro-batch, missing-update, returns-last-loss
# lines: 10, 27, 28
import torch
from torch.nn.utils import clip_grad_norm_


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    n = len(micro_batches)
    for xb, yb in micro_batches:
        opt.zero_grad()
        with torch.autocast(device_type=xb.device.type, dtype=dtype):
            logits = model(xb)
            loss = loss_fn(logits, yb)
        if scaler is None:
            (loss / n).backward()
        else:
            scaler.scale(loss / n).backward()

    if scaler is None:
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
    else:
        scaler.unscale_(opt)
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(opt)
    return loss.item()
