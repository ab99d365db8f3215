# mistakes: missing-autocast, missing-zero-grad, missing-unscale|clip-before-unscale
# lines: 7, 12, 17
import torch


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    with torch.autocast(device_type="cuda", dtype=dtype):
        output = model(xb)
        loss = loss_fn(output, yb)

    if scaler is not None:
        scaler.scale(loss).backward()
    else:
        loss.backward()

    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

    if scaler is not None:
        scaler.step(opt)
        scaler.update()
    else:
        opt.step()
    return loss.item()
