import torch


@torch.inference_mode(False)
@torch.no_grad()
def ema_update_(ema, model, decay, step):
    ratio = min(decay, (1 + step) / (10 + step))
    torch._foreach_lerp_(list(ema.parameters()), list(model.parameters()), 1 - ratio)
    means, nows = list(ema.buffers()), list(model.buffers())
    if means:
        torch._foreach_copy_(means, nows)
    return ratio
