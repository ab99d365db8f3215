# mistakes: ignores-inputs, empty-name-is-none, random-state-advances
# lines: 14, 35, 24
# hidden:
import torch
from torch import nn


def first_bad_layer(model: nn.Module, batch: torch.Tensor) -> str | None:
    bad = None

    def watch(name):
        def fn(_module, _inputs, out):
            nonlocal bad
            if bad is None and not torch.isfinite(out).all():
                bad = name

        return fn

    leaves = [(n, m) for n, m in model.named_modules() if not list(m.children())]
    hooks = [m.register_forward_hook(watch(n)) for n, m in leaves]
    kept = [(m, k, b, None if b is None else b.clone()) for m in model.modules() for k, b in m._buffers.items()]
    try:
        with torch.no_grad():
            model(batch)
    except Exception:
        if bad is None:
            raise
    finally:
        for h in hooks:
            h.remove()
        for m, k, b, copy in kept:
            if b is not None:
                b.copy_(copy)
            m._buffers[k] = b
    return bad or None
