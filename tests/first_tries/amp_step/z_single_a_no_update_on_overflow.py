# mistakes: no-update-on-overflow
# lines: 29
# hidden:
import torch


def _finite(model):
    return all(bool(p.grad.isfinite().all()) for p in model.parameters() if p.grad is not None)


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    opt.zero_grad()
    with torch.autocast(xb.device.type, dtype=dtype):
        loss = loss_fn(model(xb), yb)
    if scaler is None:
        loss.backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        return loss.item()
    scaler.scale(loss).backward()
    if not _finite(model):
        opt.zero_grad()
        return loss.item()
    scaler.unscale_(opt)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(opt)
    scaler.update()
    return loss.item()
