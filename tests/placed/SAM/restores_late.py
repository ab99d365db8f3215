import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        self._check(rho)
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.old = {}

    @staticmethod
    def _check(rho):
        if rho <= 0:  # here: refuses-zero-rho
            raise ValueError(f"rho must be positive, not {rho}")

    def _restore(self):
        for p in self.old:
            p.data = self.old[p]
        self.old = {}

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        norm = self._norm()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.old[p] = p.data.clone()
                    factor = p.data ** 2 if group["adaptive"] else 1.0
                    p.data.add_(factor * p.grad * group["rho"] / (norm + 1e-12))
        if zero_grad:
            self.zero_grad()

    def _norm(self):
        parts = []
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    parts.append(((p.abs() if group["adaptive"] else 1.0) * p.grad).norm())
        return torch.stack(parts).norm()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        self.base_optimizer.step()  # here: restores-after-step
        self._restore()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return self.base_optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict)
        self.param_groups = self.base_optimizer.param_groups
