# expect: one-backward-per-window
import torch


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None):
    device = micro_batches[0][0].device
    if scaler is None:
        scaler = torch.amp.GradScaler(device.type, enabled=False)
    with torch.autocast(device.type, dtype):
        losses = torch.stack([loss_fn(model(x), y) for x, y in micro_batches])
        loss = losses.mean()
    opt.zero_grad(set_to_none=False)
    scaler.scale(loss).backward()
    if max_norm is not None:
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(opt)
    scaler.update()
    return float(loss)
