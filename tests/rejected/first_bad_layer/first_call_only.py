# expect: first-call-only
import copy

import torch
from torch import nn


def first_bad_layer(model: nn.Module, batch: torch.Tensor) -> str | None:
    net = copy.deepcopy(model)
    results = {}

    def watch(name):
        def hook(_, args, out):
            if name in results:
                return
            results[name] = bool(args[0].isfinite().all() and not out.isfinite().all())
        return hook

    for name, m in net.named_modules():
        if next(m.children(), None) is None:
            m.register_forward_hook(watch(name))

    def pick():
        return next((n for n, bad in results.items() if bad), None)

    with torch.random.fork_rng(devices=[]):
        try:
            net(batch)
        except Exception:
            if pick() is None:
                raise
    return pick()
