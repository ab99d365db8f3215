# mistakes: adaptive-half-done, old-weights-on-zero, groups-parted-by-loading
# lines: 39, 47, 64
# hidden:
import torch


class SAM(torch.optim.Optimizer):
    """가중치를 두 걸음으로 옮기는 옵티마이저입니다."""

    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError(f"rho는 0 이상이어야 합니다: {rho}")
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.defaults.update(self.base_optimizer.defaults)
        self.remembered = []

    def _with_grad(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    yield group, p

    def _norm(self):
        pieces = []
        for group, p in self._with_grad():
            if group["adaptive"]:
                pieces.append((p.abs() * p.grad).norm())
            else:
                pieces.append(p.grad.norm())
        return torch.stack(pieces).norm().item() if pieces else 0.0

    def _climb(self, norm):
        self.remembered = []
        for group, p in self._with_grad():
            self.remembered.append((p, p.clone()))
            if group["adaptive"]:
                e = group["rho"] * p.abs() * p.grad / norm
            else:
                e = group["rho"] * p.grad / norm
            p.add_(e)

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        norm = self._norm()
        if norm > 0:
            self._climb(norm)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for p, w in self.remembered:
            p.copy_(w)
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return self.base_optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict)
