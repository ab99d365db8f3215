# mistakes: adaptive-ignored, nan-on-zero-gradient, no-rho-check
# lines: 26, 26, 9
import torch
from torch.optim import Optimizer


class SAM(Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        self.base = base_optimizer(params, **kwargs)
        super().__init__(self.base.param_groups, {})
        self.param_groups = self.base.param_groups
        self.rho = rho
        self.backup = {}

    def _with_grad(self):
        return [p for group in self.param_groups for p in group["params"] if p.grad is not None]

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        # e = rho * g / ||g||
        params = self._with_grad()
        norm = torch.cat([p.grad.flatten() for p in params]).norm()
        self.backup = {}
        for p in params:
            self.backup[p] = p.detach().clone()
            e = self.rho * p.grad / norm
            p.add_(e)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for p, w in self.backup.items():
            p.copy_(w)
        self.base.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return self.base.state_dict()

    def load_state_dict(self, state_dict):
        self.base.load_state_dict(state_dict)
        self.param_groups = self.base.param_groups
