# mistakes: zero-grad-every-micro-batch, missing-unscale|clip-before-unscale, divides-loss-twice
# lines: 11, 21, 28
import torch
from torch.nn.utils import clip_grad_norm_


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    n = len(micro_batches)
    losses = []
    for x, y in micro_batches:
        opt.zero_grad()
        with torch.autocast(device_type=x.device.type, dtype=dtype):
            loss = loss_fn(model(x), y) / n
        if scaler is None:
            loss.backward()
        else:
            scaler.scale(loss).backward()
        losses.append(loss.item())

    if max_norm is not None:
        clip_grad_norm_(model.parameters(), max_norm)

    if scaler is None:
        opt.step()
    else:
        scaler.step(opt)
        scaler.update()
    return sum(losses) / len(losses)
