# mistakes: counter-not-restored, different-masks, advances-rng
# lines: 13, 32, 32
# hidden:
import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm


def disable_running_stats(model):
    def _disable(module):
        if isinstance(module, _BatchNorm):
            module.backup_momentum = module.momentum
            module.momentum = 0

    model.apply(_disable)


def enable_running_stats(model):
    def _enable(module):
        if isinstance(module, _BatchNorm) and hasattr(module, "backup_momentum"):
            module.momentum = module.backup_momentum
            del module.backup_momentum

    model.apply(_enable)


def sharpness(model: nn.Module, loss_fn, xb, yb, *, rho) -> float:
    disable_running_stats(model)
    params = [p for p in model.parameters() if p.requires_grad]
    old = [p.detach().clone() for p in params]

    base = loss_fn(model(xb), yb)
    grads = torch.autograd.grad(base, params, allow_unused=True)
    norm = sum(g.norm().item() ** 2 for g in grads if g is not None) ** 0.5

    with torch.no_grad(), torch.random.fork_rng():
        for p, g in zip(params, grads):
            if g is not None:
                p.add_(rho * g / (norm + 1e-12))
        high = loss_fn(model(xb), yb)
        for p, w in zip(params, old):
            p.copy_(w)

    enable_running_stats(model)
    return high.item() - base.item()
