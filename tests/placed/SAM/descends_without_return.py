import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError("rho must be >= 0")
        self.rho = rho
        self.adaptive = adaptive
        super().__init__(params, dict(kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        ps = [p for g in self.param_groups for p in g["params"] if p.grad is not None]
        grads = [p.abs() * p.grad if self.adaptive else p.grad for p in ps]
        norm = torch.stack([g.norm() for g in grads]).norm()
        if norm != 0:
            for p in ps:
                self.state[p]["w"] = p.detach().clone()
                scale = p ** 2 if self.adaptive else 1
                p.sub_(self.rho * scale * p.grad / norm)  # here: perturbs-downhill
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        self.base_optimizer.step()  # before: missing-restore
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return {"base": self.base_optimizer.state_dict(), "rho": self.rho}

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict["base"])  # after: groups-parted-by-loading
        self.rho = state_dict["rho"]
