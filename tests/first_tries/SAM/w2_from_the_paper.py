# mistakes: no-rho-check, nan-on-zero-gradient, adaptive-half-done, missing-restore
# lines: 9, 31, 33, 30
# hidden:
import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        params = list(params)
        super().__init__(params, {"rho": rho, "adaptive": adaptive})
        self.base_optimizer = base_optimizer(params, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.rho = rho
        self.adaptive = adaptive
        self.saved = {}

    def _params_with_grad(self):
        return [p for group in self.param_groups for p in group["params"] if p.grad is not None]

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        ps = self._params_with_grad()
        total = 0.0
        for p in ps:
            g = p.abs() * p.grad if self.adaptive else p.grad
            total = total + (g**2).sum()
        norm = total**0.5
        self.saved = {}
        for p in ps:
            self.saved[p] = p.data
            scale = self.rho / norm
            if self.adaptive:
                e = scale * p.abs() * p.grad
            else:
                e = scale * p.grad
            p.add_(e)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for p, w in self.saved.items():
            p.copy_(w)
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return self.base_optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict)
        self.param_groups = self.base_optimizer.param_groups
