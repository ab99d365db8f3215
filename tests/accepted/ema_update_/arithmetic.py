import torch


@torch.no_grad()
def ema_update_(ema, model, decay, step):
    warm = (1 + step) / (10 + step)
    d = warm if warm < decay else decay
    for e, m in zip(ema.parameters(), model.parameters()):
        e.mul_(d).add_(m, alpha=1 - d)
    for e, m in zip(ema.buffers(), model.buffers()):
        e.copy_(m)
    return float(d)
