# mistakes: 나눈 손실을 모으고 나서 한 번 더 개수로 나눠 돌려줌
# lines: 22
import torch


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None):
    if scaler is None:
        scaler = torch.amp.GradScaler(enabled=False)
    n = len(micro_batches)
    opt.zero_grad()
    losses = []
    for xb, yb in micro_batches:
        with torch.autocast(xb.device.type, dtype=dtype):
            loss = loss_fn(model(xb), yb) / n
        scaler.scale(loss).backward()
        losses.append(loss.item())
    scaler.unscale_(opt)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(opt)
    scaler.update()
    return sum(losses) / len(losses)
