# mistakes: zero-grad-every-micro-batch, no-division, returns-sum
# lines: 10, 12, 28
# hidden: returns-sum
import torch


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    total_loss = 0.0
    for xb, yb in micro_batches:
        opt.zero_grad()
        with torch.autocast(xb.device.type, dtype):
            loss = loss_fn(model(xb), yb)
        if scaler is None:
            loss.backward()
        else:
            scaler.scale(loss).backward()
        total_loss += loss.item()

    if scaler is not None:
        scaler.unscale_(opt)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    if scaler is not None:
        scaler.step(opt)
        scaler.update()
    else:
        opt.step()
    return total_loss
