# mistakes: loss-outside-autocast, step-without-scaler, no-clip
# lines: 10, 17, 18
import torch


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    opt.zero_grad()
    with torch.autocast(xb.device.type, dtype):
        logits = model(xb)
    loss = loss_fn(logits, yb)

    if scaler is not None:
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
    else:
        loss.backward()
    opt.step()
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    if scaler is not None:
        scaler.update()
    return loss.item()
