import torch


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None):
    # bfloat16 needs none, and a power of two changes nothing
    if scaler is None:
        scaler = torch.amp.GradScaler(xb.device.type, init_scale=2.0**10)
    opt.zero_grad()
    with torch.autocast(xb.device.type, dtype=dtype):
        loss = loss_fn(model(xb), yb)
    value = loss.item()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(opt)
    scaler.update()
    return value
