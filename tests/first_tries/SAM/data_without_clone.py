# mistakes: groups-not-shared, missing-restore, adaptive-half-done, always-clears, groups-parted-by-loading
# lines: 12, 26, 27, 28, 43
import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError(f"rho: {rho}")
        params = [{**g, "params": list(g["params"])} if isinstance(g, dict) else g for g in params]
        groups = [dict(g) if isinstance(g, dict) else g for g in params]
        super().__init__(params, {"rho": rho, **kwargs})
        self.base_optimizer = base_optimizer(groups, **kwargs)
        self.rho, self.adaptive = rho, adaptive
        self.backup = {}

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        todo = [p for g in self.param_groups for p in g["params"] if p.grad is not None]
        weights = [p.abs() if self.adaptive else torch.ones_like(p) for p in todo]
        norm = sum(((w * p.grad) ** 2).sum().item() for w, p in zip(weights, todo)) ** 0.5

        self.backup = {}
        if norm != 0:
            for w, p in zip(weights, todo):
                self.backup[p] = p.data
                p.add_(w * p.grad, alpha=self.rho / norm)
        self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for p, old in self.backup.items():
            p.copy_(old)
        self.backup.clear()
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return {"base": self.base_optimizer.state_dict()}

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict["base"])
