# mistakes: one-infinity, persistent-buffers-only, no-cleanup-on-error
# lines: 19, 28, 39
# hidden:
import torch
from torch import nn


def _bad(t):
    return bool(torch.isnan(t).any()) or bool((t == float("inf")).any())


def first_bad_layer(model: nn.Module, batch: torch.Tensor) -> str | None:
    culprits = []
    handles = []

    def watch(name):
        def hook(mod, args, kwargs, out):
            (given,) = (*args, *kwargs.values())
            if _bad(out) and not _bad(given):
                culprits.append(name)

        return hook

    for name, mod in model.named_modules():
        if not list(mod.children()):
            handles.append(mod.register_forward_hook(watch(name), with_kwargs=True))

    backup = {k: v.detach().clone() for k, v in model.state_dict().items()}
    cpu_rng = torch.get_rng_state()
    gpu_rng = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []

    try:
        model(batch)
    except Exception:
        if not culprits:
            raise

    for h in handles:
        h.remove()
    torch.set_rng_state(cpu_rng)
    if gpu_rng:
        torch.cuda.set_rng_state_all(gpu_rng)
    with torch.no_grad():
        for k, v in model.state_dict().items():
            v.copy_(backup[k])
    return culprits[0] if culprits else None
