# mistakes: no-division, divides-loss-twice
# lines: 17, 40
# hidden:
import torch


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    n = len(micro_batches)
    device_type = next(model.parameters()).device.type

    def micro_loss(x, y):
        with torch.autocast(device_type, dtype=dtype):
            return loss_fn(model(x), y)

    def backward(loss):
        if scaler is not None:
            scaler.scale(loss).backward()
        else:
            (loss / n).backward()

    def update():
        if scaler is not None:
            scaler.unscale_(opt)
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        if scaler is not None:
            scaler.step(opt)
            scaler.update()
        else:
            opt.step()

    opt.zero_grad()
    mean_loss = 0.0
    for x, y in micro_batches:
        loss = micro_loss(x, y)
        mean_loss += loss.item() / n
        backward(loss)
    update()
    opt.zero_grad()
    return mean_loss / n
