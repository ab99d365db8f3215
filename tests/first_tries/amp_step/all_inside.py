# mistakes: missing-zero-grad, backward-under-autocast, returns-tensor
# lines: 7, 10, 24
import torch


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    with torch.autocast(device_type=xb.device.type, dtype=dtype):
        logits = model(xb)
        loss = loss_fn(logits, yb)
        if scaler is None:
            loss.backward()
        else:
            scaler.scale(loss).backward()
    if scaler is None:
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
    else:
        if max_norm is not None:
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(opt)
        scaler.update()
    return loss
