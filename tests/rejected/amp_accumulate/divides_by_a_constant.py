# expect: divides-by-a-constant
import torch


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None):
    accum_steps = 4
    scaler = scaler or torch.amp.GradScaler(enabled=False)
    opt.zero_grad()
    total = 0.0
    for xb, yb in micro_batches:
        with torch.autocast(xb.device.type, dtype):
            loss = loss_fn(model(xb), yb)
        total += loss.item()
        scaler.scale(loss / accum_steps).backward()
    scaler.unscale_(opt)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(opt)
    scaler.update()
    return total / len(micro_batches)
