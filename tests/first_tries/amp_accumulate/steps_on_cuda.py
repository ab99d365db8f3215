# mistakes: missing-autocast, missing-unscale|clip-before-unscale, step-every-micro-batch, returns-sum
# lines: 13, 21, 22, 29
import torch
from torch.nn.utils import clip_grad_norm_


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None):
    n = len(micro_batches)
    total_loss = 0.0
    opt.zero_grad()
    for i in range(n):
        xb, yb = micro_batches[i]
        with torch.autocast("cuda", dtype=dtype):
            pred = model(xb)
            loss = loss_fn(pred, yb)
        total_loss += loss.item()
        loss = loss / n
        if scaler:
            scaler.scale(loss).backward()
            if max_norm is not None:
                clip_grad_norm_(model.parameters(), max_norm)
            scaler.step(opt)
            scaler.update()
        else:
            loss.backward()
            if max_norm is not None:
                clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
    return total_loss
