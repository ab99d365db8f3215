# mistakes: adaptive-half-done, groups-parted-by-loading, refuses-zero-rho
# lines: 39, 60, 9
# hidden:
import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho <= 0:
            raise ValueError(f"rho가 잘못되었습니다: {rho}")
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.defaults.update(self.base_optimizer.defaults)

    def _with_grad(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    yield group, p

    def _total_norm(self):
        parts = []
        for group, p in self._with_grad():
            v = p.abs() * p.grad if group["adaptive"] else p.grad
            parts.append(v.norm(2).cpu())
        if not parts:
            return 0.0
        return torch.stack(parts).norm(2).item()

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        norm = self._total_norm()
        if norm > 0:
            for group, p in self._with_grad():
                self.state[p]["w"] = p.detach().clone()
                direction = p.grad / norm
                if group["adaptive"]:
                    direction = p.abs() * direction
                p.add_(direction, alpha=group["rho"])
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                old = self.state[p].pop("w", None)
                if old is not None:
                    p.copy_(old)
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        # rho, adaptive는 그룹 안에 함께 들어 있다
        return {"base": self.base_optimizer.state_dict()}

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict["base"])
