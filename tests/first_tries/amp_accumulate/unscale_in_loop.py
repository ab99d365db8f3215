# mistakes: no-division, unscale-every-micro-batch
# lines: 13, 15
import torch


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    opt.zero_grad()
    total = 0.0
    for xb, yb in micro_batches:
        with torch.autocast(xb.device.type, dtype=dtype):
            loss = loss_fn(model(xb), yb)
        total += loss.item()
        if scaler is not None:
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
        else:
            loss.backward()
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    if scaler is not None:
        scaler.step(opt)
        scaler.update()
    else:
        opt.step()
    return total / len(micro_batches)
