# mistakes: 클리핑하지 않는 갈래에서 scaler.update()를 빠뜨림
# lines: 18
import torch


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None):
    scaler = scaler or torch.amp.GradScaler(enabled=False)
    opt.zero_grad()
    with torch.autocast(xb.device.type, dtype=dtype):
        loss = loss_fn(model(xb), yb)
    scaler.scale(loss).backward()
    if max_norm is not None:
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(opt)
        scaler.update()
    else:
        scaler.step(opt)
    return loss.item()
