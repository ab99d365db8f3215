"""Distillation: a frozen teacher under no_grad, soft targets, and an averaged pupil."""
import copy
import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(16, w), nn.ReLU(), nn.Dropout(0.1), nn.Linear(w, 6))

    def forward(self, x):
        return self.f(x)


class Averaged:
    def __init__(self, net, d=0.95):
        self.net, self.d = copy.deepcopy(net).requires_grad_(False).eval(), d

    @torch.no_grad()
    def follow(self, net):
        torch._foreach_lerp_(list(self.net.parameters()), list(net.parameters()), 1 - self.d)


def make(n, g):
    c = torch.randn(6, 16, generator=torch.Generator().manual_seed(1))
    y = torch.randint(0, 6, (n,), generator=g)
    return c[y] + 1.2 * torch.randn(n, 16, generator=g), y


@torch.no_grad()
def right(net, x, y):
    was = net.training
    net.eval()
    out = (net(x).argmax(1) == y).float().mean().item()
    net.train(was)
    return out


def soft_ce(z, probs):
    return -(probs * z.log_softmax(-1)).sum(-1).mean()


def train(net, loss_of, data, epochs, g, after=None):
    x, y = data
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    net.train()
    for _ in range(epochs):
        tot = 0.0
        for ix in torch.randperm(len(y), generator=g).split(50):
            loss = loss_of(net(x[ix]), x[ix], y[ix])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if after is not None:
                after(net)
            tot += loss.item() * len(ix)
    return tot / len(y)


torch.manual_seed(2)
g = torch.Generator().manual_seed(2)
data, held = make(1500, g), make(600, g)
teacher = Net(96)
train(teacher, lambda z, x, y: F.cross_entropy(z, y), data, 4, g)
teacher.eval().requires_grad_(False)


def distil(z, x, y, T=2.0):
    with torch.no_grad():
        p = torch.softmax(teacher(x) / T, -1)
    return T * T * soft_ce(z / T, p) * 0.7 + 0.3 * F.cross_entropy(z, y)


pupil = Net(24)
avg = Averaged(pupil)
print("loss", round(train(pupil, distil, data, 6, g, avg.follow), 4))
print("teacher", right(teacher, *held), "pupil", right(pupil, *held), "averaged", right(avg.net, *held))
