# mistakes: kwargs-left-behind
# lines: 11
import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError("rho must not be negative")
        super().__init__(params, dict(rho=rho, adaptive=adaptive))
        self.base_optimizer = base_optimizer(self.param_groups)
        self.param_groups = self.base_optimizer.param_groups
        self.rho, self.adaptive = rho, adaptive

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        ps = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
        weight = lambda p: p.abs() if self.adaptive else torch.ones_like(p)
        norm = torch.sqrt(sum(((weight(p) * p.grad) ** 2).sum() for p in ps))
        for p in ps:
            self.state[p]["old"] = p.clone()
            if norm > 0:
                p.add_(weight(p) ** 2 * p.grad * self.rho / norm)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                old = self.state[p].pop("old", None)
                if old is not None:
                    p.copy_(old)
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return self.base_optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict)
        self.param_groups = self.base_optimizer.param_groups
