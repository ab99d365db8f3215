# mistakes: nan-only, no-cleanup-on-error, buffers-not-restored
# lines: 15, 34, 25
# hidden:
import torch
from torch import nn


def first_bad_layer(model: nn.Module, batch: torch.Tensor) -> str | None:
    bad = []
    handles = []

    def make_hook(name):
        def hook(module, inputs, output):
            clean = not any(torch.isnan(t).any() for t in inputs)
            if clean and torch.isnan(output).any():
                bad.append(name)

        return hook

    for name, module in model.named_modules():
        if len(list(module.children())) == 0:
            handles.append(module.register_forward_hook(make_hook(name)))

    # 모델의 상태를 적어 두었다가 되돌린다
    saved = dict(model.state_dict())
    try:
        with torch.random.fork_rng(), torch.no_grad():
            model(batch)
    except Exception:
        if bad:
            return bad[0]
        raise

    for h in handles:
        h.remove()
    model.load_state_dict(saved)
    return bad[0] if bad else None
