"""Plain SGD written by hand on a residual MLP."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Residual(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.inp = nn.Linear(5, d)
        self.blocks = [nn.Linear(d, d) for _ in range(n)]
        self.out = nn.Linear(d, 1)

    def forward(self, x):
        h = self.inp(x)
        for b in self.blocks:
            h = h + torch.tanh(b(h))
        return self.out(h).squeeze(-1)


def sgd(params, lr):
    with torch.no_grad():
        for p in params:
            if p.grad is not None:
                p -= lr * p.grad
                p.grad = None


torch.manual_seed(6)
w = torch.randn(5)
x = torch.randn(500, 5)
y = torch.tanh(x @ w) + x[:, 0] ** 2
net = Residual(24, 3)
for epoch in range(10):
    perm = torch.randperm(500)
    total = 0.0
    for chunk in perm.chunk(10):
        loss = F.mse_loss(net(x[chunk]), y[chunk])
        loss.backward()
        sgd(net.parameters(), lr=0.02)
        total += loss.item()
    print(epoch, f"{total / 10:.4f}")
