# mistakes: missing-zero-grad, deprecated-amp|missing-autocast, returns-nothing
# lines: 8, 8, 21
import torch
from torch.cuda.amp import autocast


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    with autocast(dtype=dtype):
        loss = loss_fn(model(xb), yb)
    if scaler:
        scaler.scale(loss).backward()
        if max_norm is not None:
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(opt)
        scaler.update()
    else:
        loss.backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
