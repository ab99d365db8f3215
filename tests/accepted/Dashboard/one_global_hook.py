import numpy as np
import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook


def _own(m):
    return [p for p in m.parameters(recurse=False)]


def _np(t):
    return t.detach().cpu().double().numpy().ravel()


class Dashboard:
    """모듈마다가 아니라 전역 훅 하나로 본다. 모델에는 아무것도 달지 않는다."""

    def __init__(self, model: nn.Module):
        self._named = [(n, m) for n, m in model.named_modules() if _own(m) or not list(m.children())]
        self._ids = {id(m) for _, m in self._named}
        self._seen: dict[int, tuple[float, float]] = {}
        self._handle = register_module_forward_hook(self._look)

    def _look(self, module, _args, out):
        if id(module) not in self._ids or not (module.training and torch.is_grad_enabled()):
            return None
        a = out.detach().cpu().double().numpy()
        units = np.atleast_1d(a).reshape(-1, a.shape[-1] if a.ndim else 1)
        self._seen[id(module)] = (float(a.std()), float(np.mean(~units.any(axis=0))))
        return None

    def read(self, lr: float) -> dict[str, dict[str, float]]:
        board = {}
        for name, m in self._named:
            grads = [_np(p.grad) for p in _own(m) if p.grad is not None]
            weights = [_np(p) for p in _own(m)]
            g = float(np.linalg.norm(np.concatenate(grads))) if grads else 0.0
            w = float(np.linalg.norm(np.concatenate(weights))) if weights else 0.0
            board[name] = {"grad_norm": g, "update_ratio": float(lr * g / w) if w > 0 else 0.0}
            if id(m) in self._seen:
                board[name]["output_std"], board[name]["dead"] = self._seen[id(m)]
        return board

    def close(self) -> None:
        self._handle.remove()
