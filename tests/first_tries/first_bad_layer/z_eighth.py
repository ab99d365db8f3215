# mistakes: nan-only, buffers-not-restored, swallows-error
# lines: 25, 33, 44
# hidden:
import torch
import torch.nn as nn


class _Watcher:
    """계층마다 훅을 달아 처음 잘못된 계층을 기억합니다."""

    def __init__(self):
        self.bad_name = None
        self.handles = []

    def attach(self, name, module):
        def hook(mod, inputs, output):
            if self.bad_name is not None:
                return
            if self.is_good(inputs[0]) and not self.is_good(output):
                self.bad_name = name

        self.handles.append(module.register_forward_hook(hook))

    def is_good(self, tensor):
        return not torch.isnan(tensor).any().item()

    def detach(self):
        for handle in self.handles:
            handle.remove()


def first_bad_layer(model: nn.Module, batch: torch.Tensor) -> str | None:
    cpu_state = torch.get_rng_state()
    gpu_states = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    watcher = _Watcher()
    for name, module in model.named_modules():
        if len(list(module.children())) == 0:
            watcher.attach(name, module)

    try:
        with torch.no_grad():
            model(batch)
    except Exception:
        pass
    finally:
        watcher.detach()
        torch.set_rng_state(cpu_state)
        if gpu_states:
            torch.cuda.set_rng_state_all(gpu_states)
    return watcher.bad_name
