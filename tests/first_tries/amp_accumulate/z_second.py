# mistakes: no-division, zero-norm-ignored
# lines: 30, 16
# hidden:
import torch


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    n = len(micro_batches)
    total = 0.0

    def forward(xb, yb):
        with torch.autocast(device_type=xb.device.type, dtype=dtype):
            return loss_fn(model(xb), yb)

    def clip():
        if max_norm:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

    opt.zero_grad()
    if scaler is None:
        for xb, yb in micro_batches:
            loss = forward(xb, yb)
            (loss / n).backward()
            total += loss.item()
        clip()
        opt.step()
    else:
        for xb, yb in micro_batches:
            loss = forward(xb, yb)
            scaler.scale(loss).backward()
            total += loss.item()
        scaler.unscale_(opt)
        clip()
        scaler.step(opt)
        scaler.update()
    opt.zero_grad()
    return total / n
