# mistakes: step-without-scaler, loss-outside-autocast, zero-norm-ignored
# lines: 22, 17, 8
# hidden:
import torch


def _shrink(model, max_norm):
    if not max_norm:
        return
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    opt.zero_grad()
    with torch.autocast(device_type=xb.device.type, dtype=dtype):
        prediction = model(xb)
    loss = loss_fn(prediction, yb)
    if scaler is not None:
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        _shrink(model, max_norm)
        opt.step()
        scaler.update()
        return loss.item()
    loss.backward()
    _shrink(model, max_norm)
    opt.step()
    return loss.item()
