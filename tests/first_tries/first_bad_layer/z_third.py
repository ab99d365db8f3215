# mistakes: nan-only, order-of-registration, random-state-advances
# lines: 9, 41, 46
# hidden:
import torch
from torch import nn


def broken(t):
    return bool(torch.isnan(t).any())


class StateKeeper:
    """버퍼를 적어 두었다가 되돌린다."""

    def __init__(self, model):
        self.items = []
        for module in model.modules():
            for key, buffer in module._buffers.items():
                if buffer is not None:
                    self.items.append((module, key, buffer, buffer.detach().clone()))

    def restore(self):
        with torch.no_grad():
            for module, key, buffer, old in self.items:
                buffer.copy_(old)
                module._buffers[key] = buffer


def first_bad_layer(model: nn.Module, batch: torch.Tensor) -> str | None:
    leaves = {name: m for name, m in model.named_modules() if not list(m.children())}
    guilty = set()

    def watch(name):
        def hook(module, inputs, output):
            if broken(output) and not broken(inputs[0]):
                guilty.add(name)

        return hook

    def answer():
        for name in leaves:
            if name in guilty:
                return name
        return None

    keeper = StateKeeper(model)
    handles = [m.register_forward_hook(watch(name)) for name, m in leaves.items()]
    try:
        with torch.no_grad():
            model(batch)
    except Exception:
        if not guilty:
            raise
    finally:
        for handle in handles:
            handle.remove()
        keeper.restore()
    return answer()
