# expect: persistent-buffers-only
import copy

import torch
from torch import nn


def first_bad_layer(model: nn.Module, batch: torch.Tensor) -> str | None:
    before = copy.deepcopy(model.state_dict())
    rng = torch.get_rng_state()
    found, handles = [], []

    def watch(name):
        def hook(_, args, out):
            if args[0].isfinite().all() and not out.isfinite().all():
                found.append(name)
        return hook

    for name, m in model.named_modules():
        if not list(m.children()):
            handles.append(m.register_forward_hook(watch(name)))
    try:
        with torch.no_grad():
            model(batch)
    except Exception:
        if not found:
            raise
    finally:
        for h in handles:
            h.remove()
        model.load_state_dict(before)
        torch.set_rng_state(rng)
    return found[0] if found else None
