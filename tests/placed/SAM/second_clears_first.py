import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError(f"Invalid rho: {rho}")
        super().__init__(params, {"rho": rho, **kwargs})
        all_params = [p for group in self.param_groups for p in group["params"]]
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.rho = rho
        self.adaptive = adaptive

    def _params(self):
        for group in self.param_groups:
            for p in group["params"]:
                yield p

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        with_grad = [p for p in self._params() if p.grad is not None]
        square_sum = 0.0
        for p in with_grad:
            g = p.grad * p.abs() if self.adaptive else p.grad
            square_sum += (g ** 2).sum()
        norm = square_sum ** 0.5
        self.backup = [(p, p.clone()) for p in with_grad]
        if norm > 0:
            for p in with_grad:
                e = self.rho * p.grad / norm
                if self.adaptive:
                    e = e * p * p
                p.add_(e)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        if zero_grad:
            self.zero_grad()  # here: clears-before-base-step
        for p, w in self.backup:
            p.copy_(w)
        self.base_optimizer.step()

    def state_dict(self):
        return self.base_optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict)
        self.param_groups = self.base_optimizer.param_groups
