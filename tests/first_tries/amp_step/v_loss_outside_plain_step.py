# mistakes: missing-zero-grad, loss-outside-autocast, step-without-scaler, clips-only-with-scaler
# lines: 9, 11, 23, 15
# hidden:
import torch


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    dev = next(model.parameters()).device.type
    with torch.autocast(dev, dtype=dtype):
        logits = model(xb)
    loss = loss_fn(logits, yb)

    if scaler is None:  # bfloat16
        loss.backward()
        opt.step()
        return loss.item()

    # float16
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    opt.step()
    scaler.update()
    return loss.item()
