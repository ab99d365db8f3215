# mistakes: loss-outside-autocast, no-division, clips-only-with-scaler
# lines: 17, 19, 35
# hidden:
import torch


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    n = len(micro_batches)

    def clip():
        params = [p for g in opt.param_groups for p in g["params"]]
        torch.nn.utils.clip_grad_norm_(params, max_norm)

    def one_micro_batch(xb, yb):
        with torch.autocast(xb.device.type, dtype=dtype):
            logits = model(xb)
        loss = loss_fn(logits, yb)
        if scaler is not None:
            scaler.scale(loss).backward()
        else:
            (loss / n).backward()
        return loss.item()

    opt.zero_grad()
    total = 0.0
    for xb, yb in micro_batches:
        total += one_micro_batch(xb, yb)

    if scaler is not None:
        scaler.unscale_(opt)
        if max_norm is not None:
            clip()
        scaler.step(opt)
        scaler.update()
    else:
        opt.step()

    opt.zero_grad()
    return total / n
