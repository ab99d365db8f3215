# mistakes: adds-instead-of-subtracts, adaptive-half-done, squares-not-rooted, no-rho-check
# lines: 42, 33, 27, 10
import torch


class SAM(torch.optim.Optimizer):
    """올라간 만큼(e)을 적어 두고 내려온다."""

    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        super().__init__(params, {"rho": rho, "adaptive": adaptive, **kwargs})
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.defaults.update(self.base_optimizer.defaults)
        self.rho = rho
        self.adaptive = adaptive
        self.e_w = {}

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        self.e_w = {}
        sq = 0.0
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    t = p.grad * p.abs() if self.adaptive else p.grad
                    sq = sq + torch.sum(t * t)
        scale = self.rho / (sq + 1e-20)
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    e = p.grad * scale
                    if self.adaptive:
                        e = e * p.abs()
                    p.add_(e)
                    self.e_w[p] = e
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for p, e in self.e_w.items():
            p.add_(e)  # w로 되돌리기
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return self.base_optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict)
        self.param_groups = self.base_optimizer.param_groups
