# mistakes: unscale-every-micro-batch, no-division, clip-every-micro-batch, returns-sum
# lines: 19, 21, 23, 30
# hidden:
import torch
from torch.nn.utils import clip_grad_norm_


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    n = len(micro_batches)
    total = 0.0
    opt.zero_grad()
    for xb, yb in micro_batches:
        with torch.autocast(xb.device.type, dtype=dtype):
            loss = loss_fn(model(xb), yb)
        total += loss.item()

        if scaler is not None:
            scaler.scale(loss / n).backward()
            scaler.unscale_(opt)
        else:
            loss.backward()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)

    if scaler is not None:
        scaler.step(opt)
        scaler.update()
    else:
        opt.step()
    return total
