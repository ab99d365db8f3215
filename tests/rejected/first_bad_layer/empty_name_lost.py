# expect: empty-name-is-none
import copy

import torch
from torch import nn


def first_bad_layer(model: nn.Module, batch: torch.Tensor) -> str | None:
    net = copy.deepcopy(model)
    names = []

    def watch(name):
        def hook(_, args, out):
            if args[0].isfinite().all() and not out.isfinite().all():
                names.append(name)
        return hook

    for name, m in net.named_modules():
        if not list(m.children()):
            m.register_forward_hook(watch(name))
    with torch.random.fork_rng(devices=[]):
        try:
            net(batch)
        except Exception:
            if not names:
                raise
    first = names[0] if names else ""
    return first or None
