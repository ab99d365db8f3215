# mistakes: groups-not-shared, per-parameter-norm, none-gradient-left-perturbed, base-state-not-saved
# lines: 12, 27, 36, 44
import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError("rho must be >= 0")
        params = list(params)
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(params, **kwargs)
        self.old_p = {}

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        self.old_p = {}
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.old_p[p] = p.data.clone()
                if group["adaptive"]:
                    norm = (p.abs() * p.grad).norm(2)
                    e_w = group["rho"] * p.pow(2) * p.grad / (norm + 1e-12)
                else:
                    norm = p.grad.norm(2)
                    e_w = group["rho"] * p.grad / (norm + 1e-12)
                p.add_(e_w)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for p, old in self.old_p.items():
            if p.grad is None:
                continue
            p.copy_(old)
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return super().state_dict()

    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
