"""EMA of weights around a dropout MLP; validation inside a context manager."""
import contextlib
import copy
import torch
from torch import nn
import torch.nn.functional as F


class Ema:
    def __init__(self, net, decay):
        self.net, self.decay = net, decay
        self.copy = copy.deepcopy(net).requires_grad_(False)

    @torch.no_grad()
    def update(self):
        torch._foreach_lerp_(list(self.copy.parameters()), list(self.net.parameters()), 1 - self.decay)


def averaged(ema):
    """every call of the wrapped training step also moves the average"""
    def deco(fn):
        def inner(*args):
            ema.update()
            return fn(*args)
        return inner
    return deco


@contextlib.contextmanager
def evaluating(net):
    net.eval()
    was = net.training
    try:
        with torch.no_grad():
            yield net
    finally:
        net.train(was)


def noisy_xor(n, seed, dim=24):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, dim, generator=g)
    y = ((x[:, 0] * x[:, 1] > 0) ^ (torch.rand(n, generator=g) < 0.1)).long()
    return x, y


def main():
    torch.manual_seed(14)
    x, y = noisy_xor(700, 1)
    vx, vy = noisy_xor(1000, 2)
    net = nn.Sequential(nn.Linear(24, 96), nn.ReLU(), nn.Dropout(0.5), nn.Linear(96, 96), nn.ReLU(),
                        nn.Dropout(0.5), nn.Linear(96, 2))
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    ema = Ema(net, decay=0.8)

    @averaged(ema)
    def step(xb, yb):
        opt.zero_grad()
        loss = F.cross_entropy(net(xb), yb)
        loss.backward()
        opt.step()
        return loss.item()

    net.train()
    modes = []
    for epoch in range(30):
        total = 0.0
        for ids in torch.randperm(len(x)).split(50):
            modes.append(net.training)
            total += step(x[ids], y[ids]) * len(ids)
        with evaluating(net) as m:
            raw = F.cross_entropy(m(vx), vy).item()
        with evaluating(ema.copy) as m:
            avg = F.cross_entropy(m(vx), vy).item()
        if epoch % 6 == 5:
            print(f"{epoch + 1:3d} train {total / len(x):.4f} val {raw:.4f} val(ema) {avg:.4f}")
    gap = sum((a - b).pow(2).sum() for a, b in zip(net.parameters(), ema.copy.parameters())).sqrt().item()
    return raw, avg, gap, sum(modes) / len(modes)


if __name__ == "__main__":
    result = main()
