# mistakes: buffers-not-restored
# lines: 15
# hidden:
import torch
from torch import nn


def _is_finite(x):
    return bool(torch.isfinite(x).all())


def first_bad_layer(model: nn.Module, batch: torch.Tensor) -> str | None:
    found = None
    weights = [(p, p.detach().clone()) for p in model.parameters()]
    buffers = [(b, b.detach().clone()) for b in model.buffers() if b.is_floating_point()]
    devices = list(range(torch.cuda.device_count()))
    handles = []

    def attach(name, module):
        def hook(mod, args, kwargs, output):
            nonlocal found
            tensors = [v for v in (*args, *kwargs.values()) if torch.is_tensor(v)]
            if found is None and all(map(_is_finite, tensors)) and not _is_finite(output):
                found = name

        handles.append(module.register_forward_hook(hook, with_kwargs=True))

    for name, module in model.named_modules():
        if not list(module.children()):
            attach(name, module)
    try:
        with torch.random.fork_rng(devices=devices), torch.no_grad():
            model(batch)
    except Exception:
        if found is None:
            raise
    finally:
        for h in handles:
            h.remove()
        with torch.no_grad():
            for t, value in weights + buffers:
                t.copy_(value)
    return found
