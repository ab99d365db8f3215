# expect: 
import torch


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    device = micro_batches[0][0].device.type
    if scaler is None and dtype == torch.float16:
        scaler = torch.amp.GradScaler(device)  # float16에는 언제나 배율이 필요합니다
    weight = 1.0 / len(micro_batches)
    mean_loss = 0.0
    opt.zero_grad()
    for xb, yb in micro_batches:
        with torch.autocast(device, dtype=dtype):
            loss = loss_fn(model(xb), yb)
        mean_loss += loss.item() * weight
        scaled = loss * weight
        if scaler is not None:
            scaled = scaler.scale(scaled)
        scaled.backward()
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
    return mean_loss
