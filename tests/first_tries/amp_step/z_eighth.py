# mistakes: zero-norm-ignored, clip-before-unscale|missing-unscale
# lines: 15, 19
# hidden:
import torch


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    opt.zero_grad()
    with torch.autocast(device_type=xb.device.type, dtype=dtype):
        logits = model(xb)
        loss = loss_fn(logits, yb)

    if scaler is None:
        loss.backward()
        if max_norm:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
    else:
        scaler.scale(loss).backward()
        if max_norm:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(opt)
        scaler.update()

    return loss.item()
