# mistakes: missing-unscale|clip-before-unscale, missing-autocast, divides-loss-twice
# lines: 31, 12, 36
# hidden:
import torch


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    how_many = len(micro_batches)

    def forward_backward(xb, yb):
        # 혼합 정밀도는 scaler와 짝이다
        with torch.autocast(device_type=xb.device.type, dtype=dtype, enabled=scaler is not None):
            loss = loss_fn(model(xb), yb) / how_many
        if scaler is None:
            loss.backward()
        else:
            scaler.scale(loss).backward()
        return loss.item()

    def shrink():
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

    opt.zero_grad()
    losses = [forward_backward(xb, yb) for xb, yb in micro_batches]

    if scaler is None:
        shrink()
        opt.step()
    else:
        shrink()
        scaler.unscale_(opt)
        scaler.step(opt)
        scaler.update()
    opt.zero_grad()
    return sum(losses) / how_many
