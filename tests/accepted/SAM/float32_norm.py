import torch


class SAM(torch.optim.Optimizer):
    """노름을 늘 float32로 구한다: 혼합 정밀도에서 흔히 쓰는 방식."""

    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.inner = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.inner.param_groups
        self.state = self.inner.state

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        norm = torch.zeros((), dtype=torch.float32)
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    g = p.grad * p.abs() if group["adaptive"] else p.grad
                    norm = norm + g.float().pow(2).sum()
        norm = norm.sqrt() + 1e-12
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.state[p]["old_p"] = p.clone()
                    g = p.grad * p.pow(2) if group["adaptive"] else p.grad
                    p.add_(g * (group["rho"] / norm).to(p))
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for state in self.state.values():
            pass
        for group in self.param_groups:
            for p in group["params"]:
                if p in self.state and "old_p" in self.state[p]:
                    p.copy_(self.state[p].pop("old_p"))
                    if not self.state[p]:
                        del self.state[p]
        self.inner.step()
        if zero_grad:
            self.zero_grad()

    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        self.inner.param_groups = self.param_groups
        self.inner.state = self.state
