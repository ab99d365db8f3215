"""Regression with uncertainty: at test time dropout stays on on purpose (MC dropout),
many passes are averaged; the plain evaluation mode is restored afterwards."""
import torch
from torch import nn
import torch.nn.functional as F


def curve(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.rand(n, 1, generator=g) * 6 - 3
    return x, torch.sin(1.5 * x) + 0.1 * torch.randn(n, 1, generator=g)


class Mc:
    def __init__(self, net, passes):
        self.net, self.passes = net, passes

    def __enter__(self):
        self.was = [(m, m.training) for m in self.net.modules()]
        self.net.eval()
        for m in self.net.modules():
            if isinstance(m, nn.Dropout):
                m.train()
        return self

    def __exit__(self, *exc):
        for m, mode in self.was:
            m.training = mode

    @torch.no_grad()
    def __call__(self, x):
        draws = torch.stack([self.net(x) for _ in range(self.passes)])
        return draws.mean(0), draws.std(0)


def noisy(batch):
    batch += 0.02 * torch.randn_like(batch)   # index batches are copies
    return batch


torch.manual_seed(9)
x, y = curve(500, 1)
vx, vy = curve(200, 2)
net = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Dropout(0.05), nn.Linear(64, 64), nn.Tanh(), nn.Dropout(0.05),
                    nn.Linear(64, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=2)
for epoch in range(14):
    net.train()
    for ids in torch.randperm(len(x)).split(25):
        loss = F.smooth_l1_loss(net(noisy(x[ids])), y[ids])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        plain = F.mse_loss(net(vx), vy).item()
    with Mc(net, 12) as mc:
        mean, spread = mc(vx)
    sched.step(plain)
    print(f"epoch {epoch} plain {plain:.4f} mc {F.mse_loss(mean, vy).item():.4f} spread {spread.mean().item():.3f}")
