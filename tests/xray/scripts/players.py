"""2-D GAN written as two players sharing one update method; samples from averaged generator."""
import math
import torch
from torch import nn
from torch.func import functional_call
import torch.nn.functional as F


class Player:
    def __init__(self, net, lr):
        self.net = net
        self.opt = torch.optim.Adam(net.parameters(), lr=lr, betas=(0.5, 0.99))

    def improve(self, loss):
        loss.backward()
        self.opt.step()
        self.opt.zero_grad()
        return loss.item()


class Average:
    """smoothed copy of the generator weights"""

    def __init__(self, net, beta=0.98):
        self.net, self.beta = net, beta
        self.weights = {k: v.detach().clone() for k, v in net.named_parameters()}

    def absorb(self):
        for name, p in self.net.named_parameters():
            self.weights[name] = self.weights[name] * self.beta + p * (1 - self.beta)

    def sample(self, z):
        with torch.no_grad():
            return functional_call(self.net, self.weights, (z,))


def ring(n, gen):
    k = torch.randint(6, (n,), generator=gen) * (2 * math.pi / 6)
    return torch.stack([k.cos(), k.sin()], 1) * 1.5 + 0.08 * torch.randn(n, 2, generator=gen)


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2), nn.Linear(48, o))


def distance(a, b, k=64):
    """sliced Wasserstein-1"""
    d = F.normalize(torch.randn(2, k, generator=torch.Generator().manual_seed(0)), dim=0)
    return ((a @ d).sort(0).values - (b @ d).sort(0).values).abs().mean().item()


def links(t):
    n, f = 0, t.grad_fn
    while f is not None and f.next_functions:
        n, f = n + 1, f.next_functions[0][0]
    return n


def main(steps=600, size=96):
    torch.manual_seed(33)
    gen = torch.Generator().manual_seed(34)
    g, d = Player(mlp(4, 2), 2e-3), Player(mlp(2, 1), 2e-3)
    average = Average(g.net)
    for step in range(1, steps + 1):
        real = ring(size, gen)
        fake = g.net(torch.randn(size, 4))
        d_loss = d.improve(F.softplus(-d.net(real)).mean() + F.softplus(d.net(fake.detach())).mean())
        g_loss = g.improve(F.softplus(-d.net(fake)).mean())
        average.absorb()
        if step % 100 == 0:
            away = distance(average.sample(torch.randn(600, 4)), ring(600, gen))
            print(f"step {step} d {d_loss:.3f} g {g_loss:.3f} distance {away:.4f}")
    return away, d_loss, links(average.weights["0.weight"])


if __name__ == "__main__":
    result = main()
