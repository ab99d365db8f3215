# mistakes: clip-before-unscale|missing-unscale, divides-loss-twice
# lines: 23, 31
# hidden:
import torch
from torch.nn.utils import clip_grad_norm_


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    n = len(micro_batches)
    mean_loss = 0.0
    opt.zero_grad()

    for xb, yb in micro_batches:
        with torch.autocast(xb.device.type, dtype=dtype):
            loss = loss_fn(model(xb), yb) / n
        mean_loss += loss.item()
        if scaler is not None:
            loss = scaler.scale(loss)
        loss.backward()

    # 구간 끝: 클리핑은 한 번만
    if max_norm is not None:
        clip_grad_norm_(model.parameters(), max_norm)

    if scaler is not None:
        scaler.step(opt)
        scaler.update()
    else:
        opt.step()

    return mean_loss / n
