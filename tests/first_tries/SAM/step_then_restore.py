# mistakes: no-rho-check, adaptive-half-done, ignores-zero-grad, restores-after-step
# lines: 8, 34, 19, 39
import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        self.rho = rho
        self.adaptive = adaptive
        self.base = base_optimizer(params, **kwargs)
        super().__init__(self.base.param_groups, self.base.defaults)
        self.param_groups = self.base.param_groups
        self.backup = {}

    def _all(self):
        return [p for g in self.param_groups for p in g["params"]]

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        ps = [p for p in self._all() if p.grad is not None]
        if self.adaptive:
            parts = [(p.abs() * p.grad).norm() for p in ps]
        else:
            parts = [p.grad.norm() for p in ps]
        self.backup = {p: p.clone() for p in ps}
        if not parts:
            return
        norm = torch.stack(parts).norm()
        if norm == 0:
            return
        for p in ps:
            e = self.rho * p.grad / norm
            if self.adaptive:
                e = e * p.abs()
            p.add_(e)

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        self.base.step()
        for p, old in self.backup.items():
            p.copy_(old)
        self.backup = {}
        if zero_grad:
            self.base.zero_grad()

    def state_dict(self):
        return self.base.state_dict()

    def load_state_dict(self, state_dict):
        self.base.load_state_dict(state_dict)
        self.param_groups = self.base.param_groups
