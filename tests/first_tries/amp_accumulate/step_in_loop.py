# mistakes: ignores-dtype, backward-under-autocast, clip-every-micro-batch|unscale-every-micro-batch, step-every-micro-batch, update-every-micro-batch
# lines: 11, 14, 19, 23, 27
import torch


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    opt.zero_grad()
    n = len(micro_batches)
    mean_loss = 0
    for x, y in micro_batches:
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            out = model(x)
            loss = loss_fn(out, y) / n
            if scaler:
                scaler.scale(loss).backward()
            else:
                loss.backward()
        mean_loss += loss.item()
        if max_norm is not None:
            if scaler:
                scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        if scaler:
            scaler.step(opt)
        else:
            opt.step()
        if scaler:
            scaler.update()
    return mean_loss
