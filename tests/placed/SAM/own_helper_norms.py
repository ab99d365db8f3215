import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError("negative rho")
        defaults = dict(rho=rho, adaptive=adaptive)
        defaults.update(kwargs)
        super().__init__(params, defaults)
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    def _each(self):
        return [(g, p) for g in self.param_groups for p in g["params"] if p.grad is not None]

    def _total_norm(self):
        norms = [(p.abs() * p.grad).norm() if g["adaptive"] else p.grad.norm() for g, p in self._each()]
        return torch.linalg.vector_norm(torch.stack(norms))

    def _offset(self, group, p, norm):
        numerator = p.grad * p.abs() if group["adaptive"] else p.grad  # here: adaptive-half-done
        return group["rho"] * numerator / norm.clamp(min=1e-12)

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        self.origin = {}
        norm = self._total_norm()
        for group, p in self._each():
            self.origin[p] = p.clone()
            p.add_(self._offset(group, p, norm))
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        self._go_back()
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def _go_back(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p in self.origin and p.grad is not None:
                    p.copy_(self.origin[p])  # here: none-gradient-left-perturbed

    def state_dict(self):
        return self.base_optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict)
        self.param_groups = self.base_optimizer.param_groups
