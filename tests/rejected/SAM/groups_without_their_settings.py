# expect: base-state-not-loaded+base-state-not-saved+groups-not-shared
import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError("rho")
        self.rho = rho
        self.adaptive = adaptive
        super().__init__(params, dict(**kwargs))
        self.base_optimizer = base_optimizer([{"params": g["params"]} for g in self.param_groups], **kwargs)
        self.kept = {}

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        self.kept = {}
        ps = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
        norm = sum(((p.abs() * p.grad if self.adaptive else p.grad) ** 2).sum() for p in ps) ** 0.5
        for p in ps:
            self.kept[p] = p.clone()
            p.add_((p.square() * p.grad if self.adaptive else p.grad) * (self.rho / (norm + 1e-12)))
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for p, old in self.kept.items():
            p.copy_(old)
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()
