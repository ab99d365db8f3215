# mistakes: clip-before-unscale|missing-unscale, clips-only-with-scaler, returns-sum
# lines: 28, 25, 40
# hidden:
import torch


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    n = len(micro_batches)

    def compute_loss(xb, yb):
        with torch.autocast(device_type=xb.device.type, dtype=dtype):
            return loss_fn(model(xb), yb)

    def run_backward(loss):
        if scaler is None:
            loss.backward()
        else:
            scaler.scale(loss).backward()

    def clip():
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

    def update():
        if scaler is None:
            opt.step()
            return
        clip()
        scaler.unscale_(opt)
        scaler.step(opt)
        scaler.update()

    opt.zero_grad()
    total = 0.0
    for xb, yb in micro_batches:
        loss = compute_loss(xb, yb)
        run_backward(loss / n)
        total += loss.item()
    update()
    return total
