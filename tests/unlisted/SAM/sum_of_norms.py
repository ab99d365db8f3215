# mistakes: 매개변수별 노름을 제곱해 합친 것의 제곱근이 아니라 그냥 더함
# lines: 21
import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError(f"rho는 0 이상이어야 합니다: {rho}")
        self.base_optimizer = base_optimizer(params, **kwargs)
        super().__init__(self.base_optimizer.param_groups, self.base_optimizer.defaults)
        self.param_groups = self.base_optimizer.param_groups
        self.rho, self.adaptive = rho, adaptive
        self.origin = []

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        moved = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
        self.origin = [(p, p.detach().clone()) for p in moved]
        norms = [((p.abs() if self.adaptive else 1.0) * p.grad).norm() for p in moved]
        norm = torch.stack(norms).sum() if norms else torch.zeros(())
        if norm > 0:
            for p in moved:
                scale = p.pow(2) if self.adaptive else 1.0
                p.add_(scale * p.grad * (self.rho / norm))
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for p, old in self.origin:
            p.copy_(old)
        self.origin = []
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return self.base_optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict)
        self.param_groups = self.base_optimizer.param_groups
