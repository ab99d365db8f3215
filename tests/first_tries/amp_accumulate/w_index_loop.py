# mistakes: missing-zero-grad, no-division, clip-before-unscale, returns-last-loss
# lines: 10, 14, 22, 29
# hidden:
import torch
from torch.nn.utils import clip_grad_norm_


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    device_type = micro_batches[0][0].device.type
    for i in range(len(micro_batches)):
        xb = micro_batches[i][0]
        yb = micro_batches[i][1]
        with torch.autocast(device_type, dtype=dtype):
            loss = loss_fn(model(xb), yb)
        if scaler is None:
            loss.backward()
        else:
            scaler.scale(loss).backward()

    # 여기서부터는 구간에 한 번
    if max_norm is not None:
        clip_grad_norm_(model.parameters(), max_norm)
    if scaler is None:
        opt.step()
    else:
        scaler.unscale_(opt)
        scaler.step(opt)
        scaler.update()
    return loss.item()
