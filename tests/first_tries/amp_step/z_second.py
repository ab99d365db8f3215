# mistakes: missing-unscale|clip-before-unscale, returns-scaled-loss, zero-norm-ignored
# lines: 22, 21, 9
# hidden:
import torch


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    def clip():
        if max_norm:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

    opt.zero_grad()
    with torch.autocast(device_type=xb.device.type, dtype=dtype):
        loss = loss_fn(model(xb), yb)

    if scaler is None:
        loss.backward()
        clip()
        opt.step()
    else:
        loss = scaler.scale(loss)
        loss.backward()
        clip()
        scaler.step(opt)
        scaler.update()

    return loss.item()
