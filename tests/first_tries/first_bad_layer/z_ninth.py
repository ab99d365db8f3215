# mistakes: one-infinity, gives-up-on-the-batch, persistent-buffers-only, ignores-inputs
# lines: 11, 29, 33, 22
# hidden: ignores-inputs
import copy

import torch
from torch import nn


def has_bad(t):
    return bool(torch.isnan(t).any()) or bool((t == float("inf")).any())


class Watcher:
    """계층 하나에 거는 훅. 잘못된 출력을 보면 이름을 적는다."""

    def __init__(self, name, found):
        self.name = name
        self.found = found

    def __call__(self, module, inputs, output):
        if has_bad(output):
            self.found.append(self.name)


def first_bad_layer(model: nn.Module, batch: torch.Tensor) -> str | None:
    # 입력이 이미 망가졌으면 계층 탓이 아니다
    if has_bad(batch):
        return None

    found = []
    handles = []
    saved = copy.deepcopy(model.state_dict())
    rng = torch.get_rng_state()
    try:
        for name, m in model.named_modules():
            if len(list(m.children())) == 0:
                handles.append(m.register_forward_hook(Watcher(name, found)))
        with torch.no_grad():
            model(batch)
    except Exception:
        if not found:
            raise
    finally:
        for h in handles:
            h.remove()
        torch.set_rng_state(rng)
        model.load_state_dict(saved)

    return found[0] if found else None
