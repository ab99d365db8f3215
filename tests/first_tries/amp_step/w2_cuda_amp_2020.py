# mistakes: missing-autocast, clip-before-unscale, missing-update, deprecated-amp
# lines: 10, 22, 24, 10
# hidden:
import torch
from torch.cuda.amp import autocast


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    opt.zero_grad()
    with autocast(dtype=dtype):
        output = model(xb)
        loss = loss_fn(output, yb)

    if scaler is None:
        loss.backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
    else:
        scaler.scale(loss).backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        scaler.unscale_(opt)
        scaler.step(opt)
    return loss.item()
