# mistakes: clip-every-micro-batch
# lines: 23
# hidden:
import torch
from torch.nn.utils import clip_grad_norm_


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    losses = []
    opt.zero_grad()
    for xb, yb in micro_batches:
        with torch.autocast(device_type=xb.device.type, dtype=dtype):
            loss = loss_fn(model(xb), yb)
        losses.append(loss.item())
        scaled = loss / len(micro_batches)
        scale = 1.0
        if scaler is not None:
            scaled = scaler.scale(scaled)
            scale = scaler.get_scale()
        scaled.backward()
        if max_norm is not None:
            # 아직 배율이 곱해져 있으므로 기준에도 배율을 곱합니다
            clip_grad_norm_(model.parameters(), max_norm * scale)
    if scaler is None:
        opt.step()
    else:
        scaler.step(opt)
        scaler.update()
    opt.zero_grad()
    return sum(losses) / len(losses)
