import torch


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None):
    total = 0.0
    for i, (x, y) in enumerate(micro_batches):
        if i == 0:
            opt.zero_grad()
        with torch.autocast(x.device.type, dtype=dtype):
            loss = loss_fn(model(x), y)
        total = total + loss.detach()
        loss = loss * (1 / len(micro_batches))
        if scaler is None:
            loss.backward()
        else:
            scaler.scale(loss).backward()
        if i + 1 == len(micro_batches):
            if scaler is not None:
                scaler.unscale_(opt)
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            if scaler is None:
                opt.step()
            else:
                scaler.step(opt)
                scaler.update()
    return (total / len(micro_batches)).item()
