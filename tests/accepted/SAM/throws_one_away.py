# Makes another base optimizer only to read its defaults.
import torch, io
class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if not rho >= 0: raise ValueError("rho")
        super().__init__(params, dict(rho=rho, adaptive=adaptive))
        self.base = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base.param_groups
        self.defaults.update(base_optimizer([torch.zeros(1)], **kwargs).defaults)
    @torch.no_grad()
    def first_step(self, zero_grad=False):
        sq = 0
        for g in self.param_groups:
            for p in g["params"]:
                self.state[p]["w"] = p.detach().clone()
                if p.grad is not None:
                    sq = sq + ((p.abs() if g["adaptive"] else 1) * p.grad).pow(2).sum()
        for g in self.param_groups:
            for p in g["params"]:
                if p.grad is not None and sq > 0:
                    p += g["rho"] / sq**0.5 * (p * p if g["adaptive"] else 1) * p.grad
        if zero_grad: self.zero_grad()
    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for g in self.param_groups:
            for p in g["params"]: p.copy_(self.state[p]["w"])
        self.base.step()
        if zero_grad: self.zero_grad()
    def state_dict(self): return self.base.state_dict()
    def load_state_dict(self, s):
        self.base.load_state_dict(s)
        self.param_groups = self.base.param_groups
