# mistakes: clip-before-unscale|missing-unscale
# lines: 28
# hidden:
import torch


def _clip(model, max_norm):
    if max_norm is None:
        return
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    opt.zero_grad(set_to_none=True)

    with torch.autocast(device_type=xb.device.type, dtype=dtype):
        y_hat = model(xb)
        loss = loss_fn(y_hat, yb)

    if scaler is None:
        loss.backward()
        _clip(model, max_norm)
        opt.step()
        return loss.item()

    scaled = scaler.scale(loss)
    scaled.backward()
    _clip(model, max_norm)
    scaler.unscale_(opt)
    scaler.step(opt)
    scaler.update()
    return loss.item()
