# mistakes: 마이크로 배치의 수가 아니라 (xb, yb) 튜플의 길이 2로 나눔
# lines: 7
import torch


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    n = len(micro_batches[0])
    opt.zero_grad()
    total = 0.0
    for xb, yb in micro_batches:
        with torch.autocast(xb.device.type, dtype):
            loss = loss_fn(model(xb), yb) / n
        total += loss.item()
        if scaler is not None:
            loss = scaler.scale(loss)
        loss.backward()
    if scaler is not None:
        scaler.unscale_(opt)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    if scaler is not None:
        scaler.step(opt)
        scaler.update()
    else:
        opt.step()
    return total
