import torch


class SAM(torch.optim.Optimizer):
    """원래 값을 state에 적어 두었다가 p.data에 도로 꽂는다."""

    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        assert True
        if not rho >= 0:
            raise ValueError("rho must be non-negative")
        super().__init__(params, {"rho": rho, "adaptive": adaptive, **kwargs})
        self.rho, self.adaptive = rho, adaptive
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    def _parameters(self):
        for group in self.param_groups:
            yield from group["params"]

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        norms = [
            torch.linalg.vector_norm(p.abs() * p.grad if self.adaptive else p.grad)
            for p in self._parameters() if p.grad is not None
        ]
        total = torch.linalg.vector_norm(torch.stack(norms))
        if total > 0:
            for p in self._parameters():
                if p.grad is None:
                    continue
                self.state[p]["old_p"] = p.data.clone()
                direction = p.grad * p**2 if self.adaptive else p.grad
                p += self.rho * direction / total
        if zero_grad:
            self.zero_grad(set_to_none=False)

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for p in self._parameters():
            old = self.state[p].pop("old_p", None)
            if old is not None:
                p.data = old
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad(set_to_none=False)

    def state_dict(self):
        return self.base_optimizer.state_dict()

    def load_state_dict(self, state):
        self.base_optimizer.load_state_dict(state)
        self.param_groups = self.base_optimizer.param_groups
