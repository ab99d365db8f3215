# mistakes: deprecated-amp, missing-unscale, missing-update
# lines: 8, 19, 20
import torch


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    opt.zero_grad()
    with torch.cuda.amp.autocast(dtype=dtype):
        out = model(xb)
        loss = loss_fn(out, yb)
    if scaler is None:
        loss.backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
    else:
        scaler.scale(loss).backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(opt)
    return loss.item()
