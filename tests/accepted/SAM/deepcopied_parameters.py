import copy

import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError(f"rho={rho}")
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    def first_step(self, zero_grad=False):
        self.saved = [copy.deepcopy([p.data for p in g["params"]]) for g in self.param_groups]
        squared = 0.0
        for g in self.param_groups:
            for p in filter(lambda p: p.grad is not None, g["params"]):
                v = p.grad.data
                if g["adaptive"]:
                    v = v * p.data.abs()
                squared += v.pow(2).sum().item()
        norm = squared**0.5
        for g in self.param_groups:
            for p in filter(lambda p: p.grad is not None, g["params"]):
                v = p.grad.data
                if g["adaptive"]:
                    v = v * p.data.pow(2)
                if norm > 0:
                    p.data.add_(v, alpha=g["rho"] / norm)
        if zero_grad:
            for g in self.param_groups:
                for p in g["params"]:
                    p.grad = None

    def second_step(self, zero_grad=False):
        for g, saved in zip(self.param_groups, self.saved):
            for p, s in zip(g["params"], saved):
                p.data.copy_(s)
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        own = super().state_dict()
        own["base"] = self.base_optimizer.state_dict()
        return own

    def load_state_dict(self, state_dict):
        state_dict = dict(state_dict)
        base = state_dict.pop("base")
        super().load_state_dict(state_dict)
        self.base_optimizer.load_state_dict(base)
        for mine, its in zip(self.param_groups, self.base_optimizer.param_groups):
            its.update(mine)
        self.param_groups = self.base_optimizer.param_groups
