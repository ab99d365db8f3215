# mistakes: none-gradient-left-perturbed
# lines: 49
# hidden:
import copy

import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError(f"rho는 0 이상이어야 합니다: {rho}")
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.defaults.update(self.base_optimizer.defaults)
        self._original = {}

    def _moving(self):
        """그레이디언트가 있는 매개변수를 자기 그룹과 함께 낸다"""
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                yield group, p

    def _total_norm(self):
        squares = 0.0
        for group, p in self._moving():
            scaled = p.abs() * p.grad if group["adaptive"] else p.grad
            squares += scaled.double().pow(2).sum().item()
        return squares**0.5

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        norm = self._total_norm()
        self._original = {}
        for group, p in self._moving():
            self._original[p] = p.detach().clone()
            if norm == 0:
                continue
            direction = p.pow(2) * p.grad if group["adaptive"] else p.grad
            p.add_(direction, alpha=group["rho"] / norm)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for _, p in self._moving():
            if p in self._original:
                p.copy_(self._original[p])
        self._original = {}
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return {"base_optimizer": self.base_optimizer.state_dict()}

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(copy.deepcopy(state_dict["base_optimizer"]))
        self.param_groups = self.base_optimizer.param_groups
