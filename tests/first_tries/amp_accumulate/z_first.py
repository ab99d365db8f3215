# mistakes: clips-only-with-scaler, divides-loss-twice
# lines: 24, 17
# hidden:
import torch
from torch.nn.utils import clip_grad_norm_


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    k = len(micro_batches)
    total = 0.0
    opt.zero_grad()

    for x, y in micro_batches:
        with torch.autocast(x.device.type, dtype=dtype):
            loss = loss_fn(model(x), y)
        loss = loss.float() / k
        total += loss.item()
        if scaler is not None:
            loss = scaler.scale(loss)
        loss.backward()

    if scaler is not None:
        scaler.unscale_(opt)
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(opt)
        scaler.update()
    else:
        opt.step()

    return total / k
