# mistakes: adaptive-half-done, nan-on-zero-gradient, clears-before-base-step
# lines: 42, 36, 55
# hidden:
import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError("rho는 0 이상이어야 합니다")
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.old = {}

    def _norm(self):
        # 모든 매개변수의 노름을 하나로 합친다
        norms = []
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if group["adaptive"]:
                    norms.append((p.abs() * p.grad).norm())
                else:
                    norms.append(p.grad.norm())
        if len(norms) == 0:
            return torch.tensor(0.0)
        return torch.stack(norms).norm()

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        self.old = {}
        norm = self._norm()
        for group in self.param_groups:
            scale = group["rho"] / norm
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.old[p] = p.clone()
                if group["adaptive"]:
                    e = p.abs() * p.grad * scale
                else:
                    e = p.grad * scale
                p.add_(e)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for p, w in self.old.items():
            p.copy_(w)
        self.old = {}
        if zero_grad:
            self.zero_grad()
        self.base_optimizer.step()

    def state_dict(self):
        return {"base": self.base_optimizer.state_dict()}

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict["base"])
        self.param_groups = self.base_optimizer.param_groups
