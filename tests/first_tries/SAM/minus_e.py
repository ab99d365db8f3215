# mistakes: no-rho-check, adaptive-half-done, unlisted (goes back by subtracting e), groups-parted-by-loading
# lines: 9, 20, 34, 43
import torch
from torch.optim import Optimizer


class SAM(Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        self.base_optimizer = base_optimizer(params, **kwargs)
        super().__init__(self.base_optimizer.param_groups, {})
        self.param_groups = self.base_optimizer.param_groups
        self.rho = rho
        self.adaptive = adaptive
        self.moves = []

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        self.moves = []
        with_grad = [p for g in self.param_groups for p in g["params"] if p.grad is not None]
        norm = sum((p.grad**2).sum().item() for p in with_grad) ** 0.5
        if norm > 0:
            for p in with_grad:
                e = self.rho * p.grad / norm
                if self.adaptive:
                    e = e * p * p
                p.add_(e)
                self.moves.append((p, e))
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for p, e in self.moves:
            p.sub_(e)
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return self.base_optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict)
