import torch


def ema_update_(ema, model, decay, step) -> float:
    ratio = min((step + 1) / (step + 10), decay)
    now = dict(model.named_parameters())
    buffers = dict(model.named_buffers())
    with torch.no_grad():
        for name, mean in ema.named_parameters():
            mean += (1 - ratio) * (now[name] - mean)
        for name, mean in ema.named_buffers():
            mean[...] = buffers[name]
    return ratio
