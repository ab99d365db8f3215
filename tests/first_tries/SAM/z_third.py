# mistakes: adaptive-half-done, clears-before-base-step, refuses-zero-rho
# lines: 44, 55, 11
# hidden:
import torch


class SAM(torch.optim.Optimizer):
    """가중치를 두 걸음으로 옮기는 옵티마이저입니다."""

    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho <= 0:
            raise ValueError(f"rho가 잘못되었습니다: {rho}")
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.defaults.update(self.base_optimizer.defaults)
        self._backup = []

    def _params_with_grad(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    yield group, p

    def _grad_norm(self):
        norms = []
        for group, p in self._params_with_grad():
            g = p.grad * p.abs() if group["adaptive"] else p.grad
            norms.append(g.norm())
        if len(norms) == 0:
            return 0.0
        return torch.stack(norms).norm().item()

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        self._backup = []
        norm = self._grad_norm()
        for group, p in self._params_with_grad():
            self._backup.append((p, p.clone()))
            if norm == 0:
                continue
            e = p.grad * (group["rho"] / norm)
            if group["adaptive"]:
                e = e * p.abs()
            p.add_(e)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for p, old in self._backup:
            p.copy_(old)
        self._backup = []
        if zero_grad:
            self.zero_grad()
        self.base_optimizer.step()

    def state_dict(self):
        return {"base": self.base_optimizer.state_dict()}

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict["base"])
        self.param_groups = self.base_optimizer.param_groups
