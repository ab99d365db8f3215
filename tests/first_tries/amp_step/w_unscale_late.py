# mistakes: missing-zero-grad, clip-before-unscale, missing-update
# lines: 10, 22, 27
# hidden:
import torch
from torch.nn.utils import clip_grad_norm_


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    # 순전파와 손실만 autocast로 감싼다
    with torch.autocast(device_type=xb.device.type, dtype=dtype):
        output = model(xb)
        loss = loss_fn(output, yb)

    # 역전파
    if scaler is not None:
        scaler.scale(loss).backward()
    else:
        loss.backward()

    # 클리핑
    if max_norm is not None:
        clip_grad_norm_(model.parameters(), max_norm)

    # 업데이트
    if scaler is not None:
        scaler.unscale_(opt)
        scaler.step(opt)
    else:
        opt.step()

    return loss.item()
