# mistakes: per-parameter-norm, nan-on-zero-gradient, unlisted (goes back by subtracting e)
# lines: 30, 30, 39
import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError("rho must not be negative")
        self.base_optimizer = base_optimizer(params, **kwargs)
        super().__init__(self.base_optimizer.param_groups, {})
        self.param_groups = self.base_optimizer.param_groups
        self.rho = rho
        self.adaptive = adaptive
        self.steps = {}

    def _params(self):
        for group in self.param_groups:
            yield from group["params"]

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        self.steps = {}
        for p in self._params():
            if p.grad is None:
                continue
            if self.adaptive:
                e = self.rho * p**2 * p.grad / (p.abs() * p.grad).norm()
            else:
                e = self.rho * p.grad / p.grad.norm()
            p.add_(e)
            self.steps[p] = e
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for p, e in self.steps.items():
            p.sub_(e)
        self.steps = {}
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return self.base_optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict)
        self.param_groups = self.base_optimizer.param_groups
