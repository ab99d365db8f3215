# mistakes: 스케일러가 켜져 있을 때만 autocast를 씀
# lines: 10
import torch


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None):
    if scaler is None:
        scaler = torch.amp.GradScaler(enabled=False)
    opt.zero_grad()
    with torch.autocast(xb.device.type, dtype=dtype, enabled=scaler.is_enabled()):
        out = model(xb)
        loss = loss_fn(out, yb)
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(opt)
    scaler.update()
    return loss.item()
