from functools import partial

import numpy as np
import torch
from torch import nn


def is_layer(module):
    owns = next(module.parameters(recurse=False), None) is not None
    return owns or next(module.children(), None) is None


def note(seen, name, layer, args, output):
    if not layer.training or not torch.is_grad_enabled():
        return
    values = output.detach().cpu().double().numpy().copy()
    table = values.reshape(-1, values.shape[-1])
    seen[name] = {"output_std": float(values.std()), "dead": float(np.mean(~table.any(axis=0)))}


def length(tensors):
    return float(np.sqrt(sum(float((t.detach().double() ** 2).sum()) for t in tensors)))


class Dashboard:
    def __init__(self, model: nn.Module):
        self.layers = [(name, module) for name, module in model.named_modules() if is_layer(module)]
        self.seen = {}
        self.hooks = [m.register_forward_hook(partial(note, self.seen, n)) for n, m in self.layers]

    def read(self, lr):
        values = {}
        for name, layer in self.layers:
            own = list(layer.parameters(recurse=False))
            grad_norm = length(p.grad for p in own if p.grad is not None)
            size = length(own)
            values[name] = {"grad_norm": grad_norm, "update_ratio": lr * grad_norm / size if size > 0 else 0.0}
            values[name].update(self.seen.get(name, {}))
        return values

    def close(self):
        for hook in self.hooks:
            hook.remove()
