# mistakes: no-division, clip-before-unscale|missing-unscale, returns-last-loss
# lines: 14, 18, 25
import torch


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None):
    opt.zero_grad()
    for x, y in micro_batches:
        with torch.autocast(x.device.type, dtype=dtype):
            loss = loss_fn(model(x), y)
        if scaler is not None:
            scaler.scale(loss).backward()
        else:
            loss.backward()

    # clip -> unscale -> step
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    if scaler is not None:
        scaler.unscale_(opt)
        scaler.step(opt)
        scaler.update()
    else:
        opt.step()
    return loss.item()
