# mistakes: nan-on-zero-gradient, adaptive-half-done, ignores-zero-grad
# lines: 39, 41, 53
# hidden:
import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError(f"rho must be >= 0: {rho}")
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.saved = {}

    def _with_grad(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    yield group, p

    def _total_norm(self):
        pieces = []
        for group, p in self._with_grad():
            g = p.grad
            if group["adaptive"]:
                g = p.abs() * g
            pieces.append(g.norm(2))
        if not pieces:
            return None
        return torch.stack(pieces).norm(2)

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        norm = self._total_norm()
        self.saved = {}
        for group, p in self._with_grad():
            self.saved[p] = p.detach().clone()
            scale = group["rho"] / norm
            if group["adaptive"]:
                e = p.abs() * p.grad * scale
            else:
                e = p.grad * scale
            p.add_(e)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for p, old in self.saved.items():
            p.copy_(old)
        self.saved = {}
        self.base_optimizer.step()

    def state_dict(self):
        return {"base": self.base_optimizer.state_dict()}

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict["base"])
        # 그룹을 다시 함께 쓴다
        self.param_groups = self.base_optimizer.param_groups
        self.saved = {}
