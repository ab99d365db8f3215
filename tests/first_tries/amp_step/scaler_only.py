# mistakes: ignores-dtype, scaler-with-none, missing-unscale, returns-scaled-loss
# lines: 8, 11, 14, 17
import torch


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    opt.zero_grad()
    with torch.autocast(xb.device.type, dtype=torch.bfloat16):
        pred = model(xb)
        loss = loss_fn(pred, yb)
    loss = scaler.scale(loss)
    loss.backward()
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(opt)
    scaler.update()
    return loss.item()
