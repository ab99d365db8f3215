"""Mixture of experts for tabular data."""
import torch
from torch import nn
import torch.nn.functional as F


class Expert(nn.Module):
    def __init__(self, d, o):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, o))

    def forward(self, x):
        return self.layers(x)


class Mixture(nn.Module):
    def __init__(self, d=12, o=4, names=("north", "south", "east", "west")):
        super().__init__()
        self.norm = nn.BatchNorm1d(d)
        self.drop = nn.Dropout(0.1)
        self.gate = nn.Linear(d, len(names))
        self.experts = {n: Expert(d, o) for n in names}

    def forward(self, x):
        x = self.drop(self.norm(x))
        w = self.gate(x).softmax(-1)
        out = torch.stack([e(x) for e in self.experts.values()], 1)
        return (w.unsqueeze(-1) * out).sum(1)


def describe(net, example):
    """print the size and the output shape before training"""
    net.eval()
    with torch.no_grad():
        shape = tuple(net(example).shape)
    count = sum(p.numel() for p in net.parameters())
    print(f"{type(net).__name__}: {count} parameters, output {shape}")
    return count


def table(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 12, generator=g)
    a = (x[:, 0] * x[:, 1] > 0).long()
    b = (x[:, 2].abs() > x[:, 3].abs()).long()
    return x * 20 + 60, 2 * a + b


def evaluate(net, x, y):
    mode = net.training
    net.eval()
    with torch.no_grad():
        acc = (net(x).argmax(-1) == y).float().mean().item()
    net.train(mode)
    return acc


torch.manual_seed(50)
x, y = table(1200, 1)
vx, vy = table(600, 2)
net = Mixture()
size = describe(net, x[:2])
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(15):
    for ids in torch.randperm(len(x)).split(48):
        loss = F.cross_entropy(net(x[ids]), y[ids])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1} val acc {evaluate(net, vx, vy):.4f}")
acc = evaluate(net, vx, vy)
