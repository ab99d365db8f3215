# mistakes: 괄호가 빠져서 1e-12를 노름이 아니라 몫에 더함
# lines: 32
import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError(f"rho: {rho}")
        super().__init__(params, {"rho": rho, "adaptive": adaptive, **kwargs})
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.state = self.base_optimizer.state
        self.old = {}

    def _with_grad(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    yield group, p

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        total = 0.0
        for group, p in self._with_grad():
            g = p.abs() * p.grad if group["adaptive"] else p.grad
            total += g.pow(2).sum().item()
        norm = total**0.5
        for group, p in self._with_grad():
            self.old[p] = p.clone()
            e = p.pow(2) * p.grad if group["adaptive"] else p.grad
            p.add_(e * (group["rho"] / norm + 1e-12))
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for p, w in self.old.items():
            p.copy_(w)
        self.old = {}
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return self.base_optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict)
        self.param_groups = self.base_optimizer.param_groups
        self.state = self.base_optimizer.state
