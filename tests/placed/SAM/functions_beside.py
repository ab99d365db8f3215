import torch


def with_gradient(groups):
    for group in groups:
        for p in group["params"]:
            if p.grad is not None:
                yield p


def joint_norm(groups, adaptive):
    squares = [((p.abs() * p.grad if adaptive else p.grad) ** 2).sum() for p in with_gradient(groups)]
    return torch.stack(squares).sum().sqrt()


def put_back(origin):
    for p, value in origin:
        p.add_(p - value)  # here: adds-instead-of-subtracts


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError(f"rho는 음수일 수 없음: {rho}")
        super().__init__(params, dict(kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.rho, self.adaptive = rho, adaptive

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        self.origin = [(p, p.clone()) for p in with_gradient(self.param_groups)]
        norm = joint_norm(self.param_groups, self.adaptive)
        for p, _ in self.origin:
            climbed = p.grad * p.square() if self.adaptive else p.grad
            p.add_(climbed * (self.rho / (norm + 1e-12)))
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        put_back(self.origin)
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return self.base_optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict)
        self.param_groups = self.base_optimizer.param_groups
