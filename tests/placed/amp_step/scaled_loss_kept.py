import torch


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    opt.zero_grad()
    with torch.autocast(xb.device.type, dtype=dtype):
        loss = loss_fn(model(xb), yb)
    if scaler is not None:
        loss = scaler.scale(loss)
    loss.backward()
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)  # before: missing-unscale
    if scaler is not None:
        scaler.step(opt)  # after: missing-update
    else:
        opt.step()
    return loss.item()
