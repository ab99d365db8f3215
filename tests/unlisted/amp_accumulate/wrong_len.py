# mistakes: 돌려주는 손실을 마이크로 배치 수가 아니라 마지막 배치의 샘플 수로 나눔
# lines: 27
import torch


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    opt.zero_grad()
    total = 0.0
    for xb, yb in micro_batches:
        with torch.autocast(xb.device.type, dtype):
            loss = loss_fn(model(xb), yb)
        total += loss.item()
        loss = loss / len(micro_batches)
        if scaler is None:
            loss.backward()
        else:
            scaler.scale(loss).backward()
    if scaler is not None:
        scaler.unscale_(opt)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    if scaler is None:
        opt.step()
    else:
        scaler.step(opt)
        scaler.update()
    return total / len(xb)
