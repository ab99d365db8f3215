# mistakes: adaptive-half-done, none-gradient-left-perturbed, groups-parted-by-loading
# lines: 45, 54, 65
# hidden:
import torch


class SAM(torch.optim.Optimizer):
    """가중치를 두 걸음으로 옮기는 옵티마이저입니다."""

    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError(f"rho: {rho}")
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        # 학습률을 함께 쓰도록 같은 그룹을 본다
        self.param_groups = self.base_optimizer.param_groups
        self.defaults.update(self.base_optimizer.defaults)
        self.home = {}

    def _norm(self):
        sq = []
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                g = p.abs() * p.grad if group["adaptive"] else p.grad
                sq.append(g.norm(2))
        if not sq:
            return 0.0
        return torch.stack(sq).norm(2).item()

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        self.home.clear()
        norm = self._norm()
        if norm > 0:
            for group in self.param_groups:
                k = group["rho"] / norm
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    self.home[p] = p.clone()
                    e = p.grad * k
                    if group["adaptive"]:
                        e = e * p.abs()
                    p.add_(e)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None or p not in self.home:
                    continue
                p.copy_(self.home[p])
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return {"base": self.base_optimizer.state_dict()}

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict["base"])
