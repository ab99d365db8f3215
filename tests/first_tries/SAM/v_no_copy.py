# mistakes: groups-not-shared, missing-restore, ignores-zero-grad
# lines: 13, 34, 38
# hidden:
import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError("rho는 0 이상이어야 합니다")
        params = list(params)
        super().__init__(params, {"rho": rho, "adaptive": adaptive})
        self.base_optimizer = base_optimizer(params, **kwargs)
        self.saved = []

    def _params(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    yield group, p

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        # 전체 노름
        squares = 0.0
        for group, p in self._params():
            g = p.grad * p.abs() if group["adaptive"] else p.grad
            squares += g.norm().item() ** 2
        norm = squares**0.5

        self.saved = []
        if norm > 0:
            for group, p in self._params():
                self.saved.append((p, p.data))
                e = group["rho"] * p.grad / norm
                if group["adaptive"]:
                    e = e * p**2
                p.add_(e)

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for p, old in self.saved:
            p.copy_(old)
        self.saved = []
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return {"base": self.base_optimizer.state_dict()}

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict["base"])
