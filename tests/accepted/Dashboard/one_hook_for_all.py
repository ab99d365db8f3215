import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook


class Dashboard:
    def __init__(self, model: nn.Module):
        self.names = {}
        for name, module in model.named_modules():
            if list(module.parameters(recurse=False)) or not list(module.children()):
                self.names[module] = name
        self.last = {}
        self.handle = register_module_forward_hook(self.after)

    def after(self, module, args, output):
        if module in self.names and module.training and torch.is_grad_enabled():
            out = output.detach()
            dead = (out.reshape(-1, out.size(-1)).abs().sum(dim=0) == 0).float().mean()
            self.last[module] = (float(out.std(unbiased=False)), float(dead))

    @torch.no_grad()
    def read(self, lr):
        result = {}
        for module, name in self.names.items():
            weights = [p.flatten() for p in module.parameters(recurse=False)]
            grads = [p.grad.flatten() for p in module.parameters(recurse=False) if p.grad is not None]
            size = float(torch.cat(weights).norm()) if weights else 0.0
            norm = float(torch.cat(grads).norm()) if grads else 0.0
            result[name] = {"grad_norm": norm, "update_ratio": lr * norm / size if size != 0 else 0.0}
            if module in self.last:
                result[name]["output_std"], result[name]["dead"] = self.last[module]
        return result

    def close(self):
        self.handle.remove()
