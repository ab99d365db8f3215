import torch


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None):
    for p in model.parameters():
        p.grad = None
    kind = "cuda" if xb.is_cuda else "cpu"
    autocast = torch.amp.autocast(device_type=kind, dtype=dtype, enabled=True)
    autocast.__enter__()
    loss = loss_fn(model(xb), yb)
    autocast.__exit__(None, None, None)
    scaler = scaler or torch.amp.GradScaler(kind, enabled=False)
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    if max_norm is not None:
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.sqrt(sum(g.pow(2).sum() for g in grads))
        if torch.isfinite(norm) and norm > max_norm:
            for g in grads:
                g.mul_(max_norm / norm)
    scaler.step(opt)
    scaler.update()
    return loss.item()
