# mistakes: clips-before-dividing
# lines: 22
# hidden:
import torch


def _params(opt):
    return [p for group in opt.param_groups for p in group["params"] if p.grad is not None]


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    opt.zero_grad()
    running = 0.0
    for xb, yb in micro_batches:
        with torch.autocast(xb.device.type, dtype=dtype):
            loss = loss_fn(model(xb), yb)
        running += float(loss.detach())
        (loss if scaler is None else scaler.scale(loss)).backward()
    if scaler is not None:
        scaler.unscale_(opt)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(_params(opt), max_norm)
    n = len(micro_batches)
    for p in _params(opt):
        p.grad.div_(n)
    if scaler is not None:
        scaler.step(opt)
        scaler.update()
    else:
        opt.step()
    opt.zero_grad()
    return running / n
