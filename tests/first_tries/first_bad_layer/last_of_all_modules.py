# mistakes: counts-blocks, last-one, ignores-inputs
# lines: 23, 19, 18
# hidden:
import copy

import torch
from torch import nn


def first_bad_layer(model: nn.Module, batch: torch.Tensor) -> str | None:
    # 원본을 건드리지 않으려고 복사본에서 실행한다
    net = copy.deepcopy(model)
    bad = None

    def add(name, module):
        def hook(mod, inp, out):
            nonlocal bad
            if not torch.isfinite(out).all():
                bad = name

        module.register_forward_hook(hook)

    for name, module in net.named_modules():
        add(name, module)

    with torch.random.fork_rng(devices=[]):
        try:
            net(batch)
        except Exception:
            if bad is None:
                raise
    return bad
