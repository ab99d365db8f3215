import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0.0:
            raise ValueError(f"rho: {rho}")
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.saved = []

    def _grad_length(self):
        out = 0.0
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                g = torch.abs(p) * p.grad if group["adaptive"] else p.grad
                out = out + float((g * g).sum())
        return out  # here: squares-not-rooted

    def _climb(self, length):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                direction = p * p * p.grad if group["adaptive"] else p.grad
                self.saved.append((p, p.detach().clone()))
                p.add_(direction, alpha=group["rho"] / (length + 1e-12))

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        self.saved = []
        self._climb(self._grad_length())
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        self._descend()
        if zero_grad:
            self.zero_grad()

    def _descend(self):
        for p, old in self.saved:
            p.copy_(old)
        self.base_optimizer.step()

    def state_dict(self):
        return self.base_optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict)
        self.param_groups = self.base_optimizer.param_groups
