# mistakes: refuses-zero-rho, ignores-zero-grad, restores-after-step
# lines: 8, 18, 36
import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho <= 0:
            raise ValueError("rho must be positive")
        self.base_optimizer = base_optimizer(params, **kwargs)
        self.rho = rho
        self.adaptive = adaptive
        super().__init__(self.base_optimizer.param_groups, self.base_optimizer.defaults)
        self.param_groups = self.base_optimizer.param_groups
        self.saved = []

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        moving = [p for g in self.param_groups for p in g["params"] if p.grad is not None]
        if self.adaptive:
            parts = [(p.abs() * p.grad).flatten() for p in moving]
        else:
            parts = [p.grad.flatten() for p in moving]
        norm = torch.linalg.vector_norm(torch.cat(parts))
        self.saved = [(p, p.clone()) for p in moving]
        if norm == 0:
            return
        for p in moving:
            direction = p.grad * p.square() if self.adaptive else p.grad
            p.add_(direction / norm * self.rho)

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        self.base_optimizer.step()
        for p, w in self.saved:
            p.copy_(w)
        self.saved = []
        if zero_grad:
            self.base_optimizer.zero_grad()

    def state_dict(self):
        return self.base_optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict)
        self.param_groups = self.base_optimizer.param_groups
