import torch


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None):
    opt.zero_grad()
    with torch.autocast(xb.device.type, dtype=dtype):
        loss = loss_fn(model(xb), yb)
    if scaler is not None:
        scaler.scale(loss).backward()
        if max_norm is not None:
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(opt)
        scaler.update()
    else:
        loss.backward()
        opt.step()  # before: clips-only-with-scaler
    return loss.item()
