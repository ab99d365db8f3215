# mistakes: touches-none, none-gradient-left-perturbed, groups-not-shared, groups-parted-by-loading
# lines: 27, 41, 16, 16
import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError(f"rho가 음수입니다: {rho}")
        params = list(params)
        if isinstance(params[0], dict):
            params = [dict(group, params=list(group["params"])) for group in params]
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        # 실제로 움직이는 것은 이 옵티마이저
        copied = [dict(group) for group in params] if isinstance(params[0], dict) else params
        self.base_optimizer = base_optimizer(copied, **kwargs)
        self.rho, self.adaptive = rho, adaptive

    def _params(self):
        for group in self.param_groups:
            yield from group["params"]

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        total = 0.0
        for p in self._params():
            scaled = p.abs() * p.grad if self.adaptive else p.grad
            total += (scaled ** 2).sum()
        norm = total ** 0.5 + 1e-12
        for p in self._params():
            self.state[p]["w"] = p.data.clone()
            step = p.grad * p ** 2 if self.adaptive else p.grad
            p.add_(self.rho * step / norm)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for p in self._params():
            if p.grad is None:
                continue
            p.data.copy_(self.state[p]["w"])
        self.base_optimizer.step()
        self.base_optimizer.zero_grad() if zero_grad else None

    def zero_grad(self, set_to_none=True):
        self.base_optimizer.zero_grad(set_to_none)

    def state_dict(self):
        return {"rho": self.rho, "base": self.base_optimizer.state_dict()}

    def load_state_dict(self, state_dict):
        self.rho = state_dict["rho"]
        self.base_optimizer.load_state_dict(state_dict["base"])
