# mistakes: groups-not-shared, missing-restore, per-parameter-norm, nan-on-zero-gradient
# lines: 12, 26, 32, 33
import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError("rho must not be negative")
        params = list(params)
        super().__init__(params, kwargs)
        self.base_optimizer = base_optimizer(params, **kwargs)
        self.rho = rho
        self.adaptive = adaptive
        self.backup = {}

    def _all_params(self):
        return [p for group in self.param_groups for p in group["params"]]

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        self.backup = {}
        for p in self._all_params():
            if p.grad is None:
                continue
            self.backup[p] = p.data
            if self.adaptive:
                direction = p.pow(2) * p.grad
                length = (p.abs() * p.grad).norm()
            else:
                direction = p.grad
                length = p.grad.norm()
            p.add_(self.rho * direction / length)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for p, old in self.backup.items():
            p.copy_(old)
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return {"base": self.base_optimizer.state_dict()}

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict["base"])
