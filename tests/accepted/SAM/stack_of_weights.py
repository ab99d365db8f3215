import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if not rho >= 0:
            raise ValueError(f"rho must not be negative: {rho}")
        base = base_optimizer(params, **kwargs)
        super().__init__(base.param_groups, dict(base.defaults))
        self.base_optimizer, self.rho, self.adaptive = base, rho, adaptive
        self.param_groups = base.param_groups
        self._trail = []

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        climbers = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
        scales = [p.abs() if self.adaptive else None for p in climbers]
        tilted = [p.grad if s is None else s * p.grad for p, s in zip(climbers, scales)]
        norm = torch.cat([t.flatten() for t in tilted]).norm().item() if tilted else 0.0
        if norm != 0:
            for p, s, t in zip(climbers, scales, tilted):
                self._trail.append((p, p.detach().clone()))
                direction = t if s is None else s * t  # |w| * |w| g = w^2 g
                p.add_(direction * (self.rho / norm))
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        while self._trail:
            p, home = self._trail.pop()
            p.copy_(home)
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return {"base_optimizer": self.base_optimizer.state_dict()}

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict["base_optimizer"])
        self.param_groups = self.base_optimizer.param_groups  # load_state_dict made new dicts
        self._trail.clear()
