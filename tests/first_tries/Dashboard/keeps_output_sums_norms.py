# mistakes: measures-late, keeps-graph, sums-norms, dead-samples
# lines: 21, 21, 35, 45
# hidden:
import torch
from torch import nn


class Dashboard:
    def __init__(self, model: nn.Module):
        self.model = model
        self.outputs = {}
        self.hooks = []
        for name, m in model.named_modules():
            own = list(m.parameters(recurse=False))
            if own or not list(m.children()):
                self.hooks.append(m.register_forward_hook(self.save(name)))

    def save(self, name):
        def fn(module, inp, out):
            if module.training and torch.is_grad_enabled():
                self.outputs[name] = out

        return fn

    def read(self, lr: float) -> dict[str, dict[str, float]]:
        board = {}
        for name, m in self.model.named_modules():
            own = list(m.parameters(recurse=False))
            if not own and list(m.children()):
                continue
            grad_norm = 0.0
            weights = 0.0
            for p in own:
                if p.grad is not None:
                    grad_norm += p.grad.norm().item()
                weights += p.detach().pow(2).sum().item()
            weights = weights**0.5
            board[name] = {
                "grad_norm": grad_norm,
                "update_ratio": lr * grad_norm / weights if weights != 0 else 0.0,
            }
            if name in self.outputs:
                out = self.outputs[name].detach()
                board[name]["output_std"] = out.std(correction=0).item()
                dead = (out == 0).all(dim=-1)
                board[name]["dead"] = dead.float().mean().item()
        return board

    def close(self) -> None:
        for h in self.hooks:
            h.remove()
        self.hooks.clear()
        self.outputs.clear()
