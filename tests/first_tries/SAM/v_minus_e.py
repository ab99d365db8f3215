# mistakes: adaptive-half-done, nan-on-zero-gradient, updates-at-perturbed, groups-parted-by-loading
# lines: 22, 27, 35, 47
# hidden:
import math

import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if not rho >= 0:
            raise ValueError(f"rho: {rho}")
        super().__init__(params, dict(**kwargs))
        self.rho, self.adaptive = rho, adaptive
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.e = {}

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        ps = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
        norm = math.sqrt(sum(p.grad.norm().item() ** 2 for p in ps))

        self.e = {}
        for p in ps:
            direction = p.pow(2) * p.grad if self.adaptive else p.grad
            self.e[p] = self.rho * direction / norm
            p.add_(self.e[p])

        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        self.base_optimizer.step()
        # 원래 자리로
        for p, e in self.e.items():
            p.sub_(e)
        self.e = {}
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return self.base_optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict)
