# mistakes: scaler가 없으면 autocast가 꺼져서 bfloat16이 float32로 계산됨
# lines: 9
import torch


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    use_scaler = scaler is not None
    opt.zero_grad()
    with torch.autocast(xb.device.type, dtype, enabled=use_scaler):
        loss = loss_fn(model(xb), yb)
    if use_scaler:
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
    else:
        loss.backward()
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    if use_scaler:
        scaler.step(opt)
        scaler.update()
    else:
        opt.step()
    return loss.item()
