# mistakes: 불러온 뒤 base의 param_groups가 새 리스트인데 SAM은 옛 것을 들고 있음
# lines: 47
import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError("rho < 0")
        base = base_optimizer(params, **kwargs)
        super().__init__(base.param_groups, base.defaults)
        self.base_optimizer = base
        self.param_groups = base.param_groups
        self.rho = rho
        self.adaptive = adaptive
        self.saved = {}

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        params = [p for g in self.param_groups for p in g["params"] if p.grad is not None]
        self.saved = {p: p.clone() for p in params}
        squares = 0.0
        for p in params:
            value = p.grad * p.abs() if self.adaptive else p.grad
            squares = squares + value.pow(2).sum()
        norm = float(squares) ** 0.5
        if norm > 0:
            for p in params:
                direction = p.grad * p * p if self.adaptive else p.grad
                p.add_(direction, alpha=self.rho / norm)
        if zero_grad:
            self.base_optimizer.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for p, w in self.saved.items():
            p.copy_(w)
        self.saved = {}
        self.base_optimizer.step()
        if zero_grad:
            self.base_optimizer.zero_grad()

    def state_dict(self):
        return self.base_optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict)
