# mistakes: missing-restore, norm-per-group
# lines: 26, 24
import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError("rho >= 0 이어야 합니다")
        self.base_optimizer = base_optimizer(params, **kwargs)
        super().__init__(self.base_optimizer.param_groups, dict(rho=rho, adaptive=adaptive))
        self.param_groups = self.base_optimizer.param_groups
        for group in self.param_groups:
            group["rho"], group["adaptive"] = rho, adaptive

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        for group in self.param_groups:
            rho, adaptive = group["rho"], group["adaptive"]
            params = [p for p in group["params"] if p.grad is not None]
            if len(params) == 0:
                continue
            norms = [((p.abs() if adaptive else 1.0) * p.grad).norm(2) for p in params]
            norm = torch.stack(norms).norm(2)
            for p in params:
                self.state[p]["old_p"] = p.data
                e = (p ** 2 if adaptive else 1.0) * p.grad * (rho / (norm + 1e-12))
                p.add_(e)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                if "old_p" in self.state[p]:
                    p.data = self.state[p].pop("old_p")
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return self.base_optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict)
        self.param_groups = self.base_optimizer.param_groups
