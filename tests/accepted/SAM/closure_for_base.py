import torch
from torch.optim import Optimizer


class _Wrapper(Optimizer):
    """base 옵티마이저를 감싸는 공통 부분."""

    def __init__(self, params, base_optimizer, **kwargs):
        super().__init__(params, kwargs)
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.sync()

    def sync(self):
        self.state, self.param_groups = self.base_optimizer.state, self.base_optimizer.param_groups

    def state_dict(self):
        return self.base_optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict)
        self.sync()


class SAM(_Wrapper):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError("rho는 음수일 수 없어요")
        super().__init__(params, base_optimizer, **kwargs)
        self.rho = rho
        self.adaptive = adaptive
        self.undo = []

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        alive = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
        t = [p.abs() if self.adaptive else torch.ones((), dtype=p.dtype) for p in alive]
        norm = torch.cat([(s * p.grad).flatten() for s, p in zip(t, alive)]).norm()
        scale = torch.where(norm > 0, self.rho / norm, 0.0)
        for s, p in zip(t, alive):
            self.undo.append(p.detach().clone())
            p.copy_(p + s * s * p.grad * scale)
        self.alive = alive
        zero_grad and self.zero_grad()

    def second_step(self, zero_grad=False):
        def closure():
            return None

        with torch.no_grad():
            for p in reversed(self.alive):
                p[...] = self.undo.pop()
        self.base_optimizer.step(closure)
        zero_grad and self.zero_grad()
