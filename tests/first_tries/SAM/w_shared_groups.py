# mistakes: missing-restore, adaptive-half-done, ignores-zero-grad, base-state-not-saved
# lines: 37, 40, 41, 52
# hidden:
import torch


class SAM(torch.optim.Optimizer):
    """두 걸음으로 옮기는 옵티마이저"""

    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError(f"rho는 0 이상이어야 합니다: {rho}")
        super().__init__(params, {"rho": rho, "adaptive": adaptive})
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups  # 같은 것을 쓴다
        self.rho, self.adaptive = rho, adaptive
        self.old = {}

    def _with_grad(self):
        return [p for group in self.param_groups for p in group["params"] if p.grad is not None]

    def _norm(self):
        """모든 매개변수를 합친 노름 하나"""
        total = 0.0
        for p in self._with_grad():
            g = p.abs() * p.grad if self.adaptive else p.grad
            total += g.pow(2).sum().item()
        return total**0.5

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        norm = self._norm()
        self.old = {}
        if norm == 0:
            return
        for p in self._with_grad():
            self.old[p] = p.data
            e = self.rho * p.grad / norm
            if self.adaptive:
                e = e * p.abs()
            p.add_(e)

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for p, w in self.old.items():
            p.copy_(w)
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return super().state_dict()

    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        self.base_optimizer.param_groups = self.param_groups
