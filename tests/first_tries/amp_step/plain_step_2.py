# mistakes: loss-outside-autocast, missing-zero-grad, clips-only-with-scaler, step-without-scaler
# lines: 10, 14, 15, 21
import torch
from torch.nn.utils import clip_grad_norm_


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None):
    with torch.autocast(device_type=xb.device.type, dtype=dtype):
        logits = model(xb)
    loss = loss_fn(logits, yb)

    if scaler is None:
        # bf16 은 스케일링이 필요 없음
        loss.backward()
        opt.step()
    else:
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        scaler.update()

    return loss.item()
