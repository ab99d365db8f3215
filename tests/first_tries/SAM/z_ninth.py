# mistakes: none-gradient-left-perturbed, norm-per-group, groups-parted-by-loading
# lines: 52, 28, 63
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
        self.saved = {}

    @staticmethod
    def _norm(group):
        pieces = []
        for p in group["params"]:
            if p.grad is None:
                continue
            scaled = p.abs() * p.grad if group["adaptive"] else p.grad
            pieces.append(scaled.norm())
        if not pieces:
            return torch.tensor(0.0)
        return torch.stack(pieces).norm()

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        self.saved.clear()
        for group in self.param_groups:
            norm = self._norm(group)
            if norm == 0:
                continue
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.saved[p] = p.clone()
                e = group["rho"] * p.grad / norm
                if group["adaptive"]:
                    e = e * p**2
                p.add_(e)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None or p not in self.saved:
                    continue
                p.copy_(self.saved[p])
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return self.base_optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict)
