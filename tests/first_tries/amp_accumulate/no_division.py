# mistakes: no-division, zero-norm-ignored, clip-every-micro-batch, returns-last-loss
# lines: 13, 16, 17, 24
import torch


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    opt.zero_grad()
    for x, y in micro_batches:
        with torch.autocast(x.device.type, dtype=dtype):
            pred = model(x)
            loss = loss_fn(pred, y)
        if scaler:
            scaler.scale(loss).backward()
        else:
            loss.backward()
        if max_norm:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    if scaler:
        scaler.unscale_(opt)
        scaler.step(opt)
        scaler.update()
    else:
        opt.step()
    return loss.item()
