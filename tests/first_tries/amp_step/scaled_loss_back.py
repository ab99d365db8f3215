# mistakes: loss-outside-autocast, returns-scaled-loss, step-without-scaler
# lines: 11, 13, 19
import torch
from torch.nn.utils import clip_grad_norm_


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    opt.zero_grad(set_to_none=True)
    with torch.autocast(xb.device.type, dtype=dtype):
        logits = model(xb)
    loss = loss_fn(logits, yb)
    if scaler is not None:
        loss = scaler.scale(loss)
    loss.backward()
    if scaler is not None:
        scaler.unscale_(opt)
    if max_norm is not None:
        clip_grad_norm_(model.parameters(), max_norm)
    opt.step()
    if scaler is not None:
        scaler.update()
    return loss.item()
