# mistakes: no-cleanup-on-error, error-hides-the-name, buffers-not-restored, random-state-advances
# lines: 27, 27, 26, 26
# hidden:
import torch
from torch import nn


def first_bad_layer(model: nn.Module, batch: torch.Tensor) -> str | None:
    answer = None
    handles = []

    def hook_for(name):
        def hook(module, args, out):
            nonlocal answer
            if answer is not None:
                return
            if torch.isfinite(args[0]).all() and not torch.isfinite(out).all():
                answer = name
        return hook

    leaves = [(n, m) for n, m in model.named_modules() if not list(m.children())]
    for n, m in leaves:
        handles.append(m.register_forward_hook(hook_for(n)))

    # 기울기는 필요 없다
    with torch.no_grad():
        model(batch)

    for h in handles:
        h.remove()
    return answer
