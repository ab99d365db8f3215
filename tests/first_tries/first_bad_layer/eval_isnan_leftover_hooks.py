# mistakes: eval-mode, nan-only, leaves-hooks, buffers-not-restored
# lines: 19, 14, 22, 26
# hidden: buffers-not-restored
import torch
from torch import nn


def first_bad_layer(model: nn.Module, batch: torch.Tensor) -> str | None:
    found = []

    def make_hook(name):
        def hook(module, inputs, output):
            ok_in = torch.isfinite(inputs[0]).all()
            if ok_in and torch.isnan(output).any():
                found.append(name)
        return hook

    rng = torch.get_rng_state()
    model.eval()
    for name, m in model.named_modules():
        if len(list(m.children())) == 0:
            m.register_forward_hook(make_hook(name))

    try:
        with torch.no_grad():
            model(batch)
    except Exception:
        if not found:
            raise
    finally:
        torch.set_rng_state(rng)
    return found[0] if found else None
