# mistakes: missing-zero-grad, no-division, returns-last-loss
# lines: 7, 9, 24
import torch


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    for xb, yb in micro_batches:
        with torch.autocast(device_type=xb.device.type, dtype=dtype):
            loss = loss_fn(model(xb), yb)
        if scaler is None:
            loss.backward()
        else:
            scaler.scale(loss).backward()
    if scaler is None:
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
    else:
        scaler.unscale_(opt)
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(opt)
        scaler.update()
    return loss.item()
