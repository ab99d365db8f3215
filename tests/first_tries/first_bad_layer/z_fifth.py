# mistakes: buffers-not-restored, order-of-registration, error-hides-the-name
# lines: 36, 47, 40
# hidden:
import torch
from torch import nn


def _finite(*tensors):
    return all(bool(torch.isfinite(t).all()) for t in tensors)


class _Watcher:
    """계층마다 훅을 달아 두고 잘못된 계층의 이름을 모은다."""

    def __init__(self, model):
        self.bad = set()
        self.handles = [
            module.register_forward_hook(self._hook(name))
            for name, module in model.named_modules()
            if len(list(module.children())) == 0
        ]

    def _hook(self, name):
        def check(module, inputs, output):
            if _finite(*inputs) and not _finite(output):
                self.bad.add(name)

        return check

    def remove(self):
        for handle in self.handles:
            handle.remove()


def first_bad_layer(model: nn.Module, batch: torch.Tensor) -> str | None:
    buffers_before = {name: buf for name, buf in model.named_buffers()}
    watcher = _Watcher(model)
    try:
        with torch.random.fork_rng(), torch.no_grad():
            model(batch)
    finally:
        watcher.remove()
        with torch.no_grad():
            for name, buf in model.named_buffers():
                buf.copy_(buffers_before[name])

    for name, _ in model.named_modules():
        if name in watcher.bad:
            return name
    return None
