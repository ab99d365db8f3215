# mistakes: groups-not-shared, adaptive-half-done, base-state-not-saved
# lines: 14, 42, 9

import torch
from torch.optim import Optimizer


class SAM(Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0.0:
            raise ValueError(f"Invalid rho: {rho}")
        params = list(params)
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(params, **kwargs)
        self.rho = rho
        self.adaptive = adaptive
        self._backup = {}

    def _all_params(self):
        for g in self.param_groups:
            yield from g["params"]

    def _grad_norm(self):
        norms = []
        for p in self._all_params():
            if p.grad is None:
                continue
            g = p.grad * p.abs() if self.adaptive else p.grad
            norms.append(g.norm())
        return torch.stack(norms).norm() if norms else 0.0

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        # w -> w + e(w)
        scale = self.rho / (self._grad_norm() + 1e-12)
        for p in self._all_params():
            if p.grad is None:
                continue
            self._backup[p] = p.data.clone()
            e = p.grad * scale
            if self.adaptive:
                e = e * p.abs()
            p.add_(e)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        # 원래 위치로 돌아간 다음 업데이트
        for p, w in self._backup.items():
            p.copy_(w)
        self._backup.clear()
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()
