import torch


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    opt.zero_grad(set_to_none=True)
    with torch.autocast(device_type=xb.device.type, dtype=dtype):
        out = model(xb)
        loss = loss_fn(out, yb)
    if scaler:
        scaler.scale(loss).backward()
        if max_norm:  # here: zero-norm-ignored
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)  # before: missing-unscale
        scaler.step(opt)  # after: missing-update
    else:
        loss.backward()
        if max_norm:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
    return loss.item()
