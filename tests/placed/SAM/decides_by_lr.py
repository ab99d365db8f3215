import torch


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        if rho < 0:
            raise ValueError("rho must not be negative")
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.memory = {}

    def gradients(self):
        for group in self.param_groups:
            for w in group["params"]:
                if w.grad is not None:
                    yield group, w, w.grad

    def length(self):
        squares = [((w.abs() * g if group["adaptive"] else g) ** 2).sum() for group, w, g in self.gradients()]
        return torch.sqrt(sum(squares))

    def remember_and_move(self, length):
        for group, w, g in self.gradients():
            self.memory[w] = w.clone()
            step = w ** 2 * g if group["adaptive"] else g
            w += step * group["lr"] / (length + 1e-12)  # here: perturbs-by-lr

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        self.memory = {}
        self.remember_and_move(self.length())
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for w, value in self.memory.items():
            w.copy_(value)
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def state_dict(self):
        return self.base_optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.base_optimizer.load_state_dict(state_dict)
        self.param_groups = self.base_optimizer.param_groups
