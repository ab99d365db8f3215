# mistakes: missing-zero-grad, scaler-with-none, missing-unscale, returns-sum
# lines: 8, 12, 14, 17
import torch


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    losses = []
    for xb, yb in micro_batches:
        with torch.autocast(xb.device.type, dtype=dtype):
            loss = loss_fn(model(xb), yb)
        losses.append(loss.item())
        scaler.scale(loss / len(micro_batches)).backward()
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(opt)
    scaler.update()
    return sum(losses)
