# mistakes: ignores-dtype, clips-only-with-scaler, returns-scaled-loss, step-without-scaler
# lines: 9, 14, 16, 21
# hidden:
import torch


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    opt.zero_grad()
    with torch.autocast(xb.device.type):
        loss = loss_fn(model(xb), yb)
    if scaler is None:
        # bfloat16은 배율이 필요 없다
        loss.backward()
        opt.step()
    else:
        loss = scaler.scale(loss)
        loss.backward()
        scaler.unscale_(opt)
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        scaler.update()
    return loss.item()
