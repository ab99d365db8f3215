# mistakes: no-rho-check, groups-not-shared, per-parameter-norm, none-gradient-left-perturbed
# lines: 9, 11, 30, 38
# hidden:
import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        params = list(params)
        super().__init__(params, {"rho": rho, "adaptive": adaptive, **kwargs})
        self.base_optimizer = base_optimizer(params, **kwargs)
        self.rho = rho
        self.adaptive = adaptive
        self.saved = {}

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        self.saved = {}
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.saved[p] = p.detach().clone()
                # 올라가는 방향
                if self.adaptive:
                    direction = p.pow(2) * p.grad
                    norm = (p.abs() * p.grad).norm()
                else:
                    direction = p.grad
                    norm = p.grad.norm()
                p.add_(self.rho * direction / (norm + 1e-12))
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for p, old in self.saved.items():
            if p.grad is None:
                continue
            p.copy_(old)
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return {"base": self.base_optimizer.state_dict()}

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict["base"])
