# mistakes: remembers-once
# lines: 25
import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError("음수 rho")
        self.base = base_optimizer(params, **kwargs)
        super().__init__(self.base.param_groups, {})
        self.param_groups = self.base.param_groups
        self.rho = rho
        self.adaptive = adaptive
        self.old = {}

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        ps = [p for g in self.param_groups for p in g["params"] if p.grad is not None]
        if self.adaptive:
            norm = torch.cat([(p.abs() * p.grad).flatten() for p in ps]).norm()
        else:
            norm = torch.cat([p.grad.flatten() for p in ps]).norm()
        for p in ps:
            if p not in self.old:
                self.old[p] = torch.empty_like(p).copy_(p)
            e = p.grad * p ** 2 if self.adaptive else p.grad
            p.add_(self.rho * e / (norm + 1e-16))
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for p in self.old:
            p.copy_(self.old[p])
        self.base.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return self.base.state_dict()

    def load_state_dict(self, state_dict):
        self.base.load_state_dict(state_dict)
        self.param_groups = self.base.param_groups
