# Adds to the norm what `torch.nn.utils.clip_grad_norm_` adds.
import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError("rho")
        self.base = base_optimizer(params, **kwargs)
        super().__init__(self.base.param_groups, self.base.defaults)
        self.param_groups = self.base.param_groups
        self.rho, self.adaptive = rho, adaptive
        self.w = None

    @property
    def flat_params(self):
        return [p for g in self.param_groups for p in g["params"]]

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        ps = self.flat_params
        self.w = parameters_to_vector(ps).clone()
        g = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in ps])
        t = self.w.abs() if self.adaptive else torch.ones_like(self.w)
        length = (t * g).norm()
        e = self.rho * t**2 * g / (length + 1e-6)  # the number that torch adds in clip_grad_norm_
        vector_to_parameters(self.w + e, ps)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        vector_to_parameters(self.w.clone(), self.flat_params)
        self.base.step()
        if zero_grad:
            self.zero_grad()

    def zero_grad(self, set_to_none=True):
        self.base.zero_grad(set_to_none)

    def state_dict(self):
        return self.base.state_dict()

    def load_state_dict(self, state_dict):
        self.base.load_state_dict(state_dict)
        self.param_groups = self.base.param_groups
