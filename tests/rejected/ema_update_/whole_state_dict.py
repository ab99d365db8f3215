# expect: twice-for-tied+persistent-buffers-only
import torch


def ema_update_(ema, model, decay, step):
    d = min(decay, (1 + step) / (10 + step))
    now = model.state_dict()
    names = {name for name, _ in ema.named_parameters(remove_duplicate=False)}
    with torch.no_grad():
        for name, mean in ema.state_dict().items():
            if name in names:
                mean.mul_(d).add_(now[name], alpha=1 - d)
            else:
                mean.copy_(now[name])
    return d
