import torch
from torch import Tensor


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho: float = 0.05, adaptive: bool = False, **kwargs):
        if rho < 0:
            raise ValueError(rho)
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base = base_optimizer(self.param_groups, **kwargs)
        self._link()
        self._moved: list[Tensor] = []
        self._old: list[Tensor] = []

    def _link(self):
        self.param_groups = self.base.param_groups
        self.state = self.base.state

    @torch.no_grad()
    def first_step(self, zero_grad: bool = False) -> None:
        parts = []
        for group in self.param_groups:
            ps = [p for p in group["params"] if p.grad is not None]
            gs = [p.grad for p in ps]
            if group["adaptive"]:
                weighted = torch._foreach_mul(torch._foreach_abs(ps), gs)
                moves = torch._foreach_mul(torch._foreach_pow(ps, 2), gs)
            else:
                weighted, moves = gs, list(torch._foreach_mul(gs, 1.0))
            parts.append((group["rho"], ps, torch._foreach_norm(weighted), moves))
        norm = torch.stack([n for _, _, norms, _ in parts for n in norms]).norm().clamp_min(1e-30)
        for rho, ps, _, moves in parts:
            self._moved += ps
            self._old += [p.detach().clone() for p in ps]
            torch._foreach_mul_(moves, rho / norm)
            torch._foreach_add_(ps, moves)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad: bool = False) -> None:
        torch._foreach_copy_(self._moved, self._old)
        self._moved, self._old = [], []
        self.base.step()
        if zero_grad:
            self.zero_grad()

    def load_state_dict(self, state_dict) -> None:
        self.base.load_state_dict(state_dict)
        self._link()

    def state_dict(self):
        return self.base.state_dict()
