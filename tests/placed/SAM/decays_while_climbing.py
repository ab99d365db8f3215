import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError(f"rho must not be negative: {rho}")
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.rho = rho
        self.adaptive = adaptive
        self.backup = {}

    def _with_grad(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    yield p

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        self.backup = {p: p.clone() for p in self._with_grad()}
        for p in self.backup:
            p.grad = p.grad + self.param_groups[0].get("weight_decay", 0.0) * p  # here: decays-while-climbing
        total = 0.0
        for p in self.backup:
            g = p.grad * p.abs() if self.adaptive else p.grad
            total += g.pow(2).sum().item()
        norm = total ** 0.5
        if norm > 0:
            for p in self.backup:
                g = p.grad * p.pow(2) if self.adaptive else p.grad
                p.add_(g, alpha=self.rho / norm)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for p, old in self.backup.items():
            p.copy_(old)
        self.backup = {}
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return self.base_optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict)
        self.param_groups = self.base_optimizer.param_groups
