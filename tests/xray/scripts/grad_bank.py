# Sensor regression; big effective batches on a small box, gradients collected by hand.
import math
import torch
from torch import nn


class GradBank:
    """Collects per-sample-weighted gradients until enough samples are in."""

    def __init__(self, params, target):
        self.params = params
        self.target = target
        self.sums = [torch.zeros_like(p) for p in params]
        self.count = 0

    def deposit(self, grads, n):
        torch._foreach_add_(self.sums, list(grads), alpha=n)
        self.count += n

    @property
    def full(self):
        return self.count >= self.target

    def withdraw(self):
        mean = torch._foreach_div(self.sums, self.count)
        torch._foreach_zero_(self.sums)
        self.count = 0
        return mean


def sensor(n, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.rand(n, 6, generator=g) * 4 - 2
    y = (t[:, :3].sin().sum(1) + t[:, 3] * t[:, 4]).unsqueeze(1)
    return t, y + 0.05 * torch.randn(n, 1, generator=g)


def apply(opt, params, grads):
    for p, g in zip(params, grads):
        p.grad = g
    opt.step()


def rmse(net, x, y):
    net.eval()
    with torch.no_grad():
        return math.sqrt(nn.functional.mse_loss(net(x), y).item())


torch.manual_seed(11)
x, y = sensor(960, 1)
vx, vy = sensor(400, 2)
net = nn.Sequential(nn.Linear(6, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1))
params = list(net.parameters())
opt = torch.optim.Adam(params, lr=4e-3)
MICRO, EFFECTIVE, EPOCHS = 16, 512, 40
updates = samples_used = 0

for epoch in range(EPOCHS):
    net.train()
    bank = GradBank(params, EFFECTIVE)
    for idx in torch.randperm(len(x)).split(MICRO):
        loss = nn.functional.mse_loss(net(x[idx]), y[idx])
        bank.deposit(torch.autograd.grad(loss, params), len(idx))
        if bank.full:
            samples_used += bank.count
            apply(opt, params, bank.withdraw())
            updates += 1
    if epoch % 8 == 7:
        print(f"epoch {epoch + 1:3d} updates {updates:4d} val rmse {rmse(net, vx, vy):.4f}")

final = rmse(net, vx, vy)
print("final", round(final, 4), "updates", updates, "samples used per epoch", samples_used / EPOCHS)
