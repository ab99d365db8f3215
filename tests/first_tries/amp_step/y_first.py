# mistakes: returns-scaled-loss, clips-only-with-scaler
# lines: 19, 15
# hidden:
import torch


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    opt.zero_grad(set_to_none=True)

    with torch.autocast(device_type=xb.device.type, dtype=dtype):
        loss = loss_fn(model(xb), yb)

    if scaler is None:
        loss.backward()
        opt.step()
        return loss.item()

    # 배율을 쓰는 경우
    loss = scaler.scale(loss)
    loss.backward()
    if max_norm is not None:
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(opt)
    scaler.update()
    return loss.item()
