# mistakes: missing-autocast, unscale-every-micro-batch|clip-every-micro-batch, divides-loss-twice
# lines: 13, 22, 29
import torch
from torch.cuda.amp import autocast
from torch.nn.utils import clip_grad_norm_


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    n = len(micro_batches)
    losses = []
    opt.zero_grad()
    for xb, yb in micro_batches:
        with autocast(dtype=dtype):
            loss = loss_fn(model(xb), yb) / n
        losses.append(loss.item())
        if scaler is not None:
            scaler.scale(loss).backward()
        else:
            loss.backward()
        if max_norm is not None:
            if scaler is not None:
                scaler.unscale_(opt)
            clip_grad_norm_(model.parameters(), max_norm)
    if scaler is not None:
        scaler.step(opt)
        scaler.update()
    else:
        opt.step()
    return sum(losses) / n
