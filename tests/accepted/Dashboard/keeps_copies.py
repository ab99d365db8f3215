import weakref

import torch
from torch import nn


class Dashboard:
    """Keeps a copy of each output without its graph, and measures when it is asked."""

    def __init__(self, model: nn.Module):
        self.copies = weakref.WeakKeyDictionary()
        self.names = {}
        self.handles = []
        for name, module in model.named_modules():
            leaf = len(list(module.children())) == 0
            own = any("." not in key for key, _ in module.named_parameters())
            if leaf or own:
                self.names[name] = module
                self.handles.append(module.register_forward_hook(self.keep))

    def keep(self, module, args, output):
        if module.training and torch.is_grad_enabled():
            self.copies[module] = output.detach().clone()

    def read(self, lr):
        return {name: self.read_one(module, lr) for name, module in self.names.items()}

    def read_one(self, module, lr):
        squares = weights = 0.0
        for key, p in module.named_parameters(recurse=False):
            weights += p.detach().pow(2).sum().item()
            if p.grad is not None:
                squares += p.grad.pow(2).sum().item()
        values = {"grad_norm": squares**0.5, "update_ratio": 0.0}
        if weights:
            values["update_ratio"] = lr * (squares / weights) ** 0.5
        if module in self.copies:
            out = self.copies[module]
            values["output_std"] = out.var(unbiased=False).sqrt().item()
            count = out.shape[-1]
            values["dead"] = sum(not out[..., unit].any() for unit in range(count)) / count
        return values

    def close(self):
        for handle in self.handles:
            handle.remove()
        self.handles.clear()
