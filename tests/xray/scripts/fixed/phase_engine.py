"""Training as a list of phases; every phase has a priority and they run in that order."""
import torch
from torch import nn


class Engine:
    def __init__(self):
        self.phases = []

    def phase(self, priority):
        def add(fn):
            self.phases.append((priority, fn.__name__, fn))
            self.phases.sort(key=lambda t: t[0])
            return fn
        return add

    def tick(self, state):
        for _, _, fn in self.phases:
            fn(state)
        return state


class State(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


class Heavy:
    """Momentum SGD on raw data."""

    def __init__(self, params, lr, mu):
        self.ps, self.lr, self.mu = list(params), lr, mu
        self.v = [torch.zeros_like(p) for p in self.ps]

    def step(self):
        for p, v in zip(self.ps, self.v):
            if p.grad is not None:
                v.mul_(self.mu).add_(p.grad)
                p.data.add_(v, alpha=-self.lr)

    def zero_grad(self):
        for p in self.ps:
            p.grad = None


eng = Engine()


@eng.phase(10)
def fetch(s):
    if s.at + s.bs > len(s.perm):
        s.perm, s.at = torch.randperm(len(s.x)), 0
    s.ix = s.perm[s.at:s.at + s.bs]
    s.at += s.bs


@eng.phase(20)
def forward(s):
    s.loss = (s.net(s.x[s.ix]) - s.y[s.ix]).square().mean()


@eng.phase(60)
def update(s):
    s.opt.step()


@eng.phase(40)
def clear(s):
    s.opt.zero_grad()


@eng.phase(50)
def backward(s):
    s.loss.backward()


@eng.phase(70)
def record(s):
    s.hist.append(s.loss.item())


def wave(n):
    x = torch.rand(n, 2) * 4 - 2
    y = torch.stack([torch.sin(2 * x[:, 0]) * x[:, 1], torch.cos(x[:, 0] + x[:, 1])], 1)
    return x, y + 0.05 * torch.randn_like(y)


def main():
    torch.manual_seed(61)
    x, y = wave(1200)
    xt, yt = wave(500)
    net = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
    s = State(x=x, y=y, bs=40, at=0, perm=torch.randperm(1200), net=net, hist=[],
              opt=Heavy(net.parameters(), lr=0.05, mu=0.8))
    for k in range(600):
        eng.tick(s)
        if k % 100 == 99:
            with torch.no_grad():
                te = (net(xt) - yt).square().mean().item()
            print(f"tick {k + 1} train {sum(s.hist[-100:]) / 100:.4f} test {te:.4f}")


if __name__ == "__main__":
    main()
