# mistakes: norm-per-group, adaptive-half-done, groups-parted-by-loading
# lines: 33, 41, 64
# hidden:
import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError(f"rho는 0 이상이어야 합니다: {rho}")
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.defaults.update(self.base_optimizer.defaults)

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        def with_grad(group):
            return [p for p in group["params"] if p.grad is not None]

        def grad_norm(group):
            pieces = []
            for p in with_grad(group):
                g = p.grad
                if group["adaptive"]:
                    g = p.abs() * g
                pieces.append(torch.linalg.vector_norm(g).cpu())
            if not pieces:
                return 0.0
            return torch.linalg.vector_norm(torch.stack(pieces)).item()

        for group in self.param_groups:
            norm = grad_norm(group)
            # 움직일 것이 없으면 넘어간다
            if norm == 0:
                continue
            scale = group["rho"] / norm
            for p in with_grad(group):
                self.state[p]["old_p"] = p.clone()
                if group["adaptive"]:
                    e = p.abs() * p.grad * scale
                else:
                    e = p.grad * scale
                p.add_(e)

        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                old = self.state[p].pop("old_p", None)
                if old is not None:
                    p.copy_(old)
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return self.base_optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict)
