import torch


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None):
    n = len(micro_batches)
    losses = []
    for x, y in micro_batches:
        with torch.autocast(x.device.type, dtype=dtype):
            loss = loss_fn(model(x), y)
        losses.append(loss.detach())
        (loss if scaler is None else scaler.scale(loss)).backward()
    if scaler is not None:
        scaler.unscale_(opt)
    for p in model.parameters():
        if p.grad is not None:
            p.grad /= n
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    if scaler is not None:
        scaler.step(opt)
        scaler.update()
    else:
        opt.step()
    opt.zero_grad()
    return sum(l.item() for l in losses) / n
