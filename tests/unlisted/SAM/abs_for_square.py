# mistakes: adaptive에서 w²이 아니라 |w|를 곱해 올라감
# lines: 30
import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError(f"rho {rho}")
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.old = {}

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        self.old = {}
        parts = []
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    parts.append((p.abs() * p.grad if group["adaptive"] else p.grad).norm())
        norm = torch.stack(parts).norm() if parts else torch.tensor(0.0)
        if norm > 0:
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    self.old[p] = p.clone()
                    direction = p.abs() * p.grad if group["adaptive"] else p.grad
                    p.add_(direction * (group["rho"] / norm))
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
