"""Two-dimensional denoising diffusion on a ring of blobs."""
import math
import torch
from torch import nn

CFG = dict(T=50, n=2000, batch=100, epochs=16, lr=3e-3, seed=77)


class Process:
    def __init__(self, T, seed):
        beta = torch.linspace(1e-3, 0.15, T)
        self.T = T
        self.bar = torch.cumprod(1 - beta, 0)
        self.seed = seed
        self.gen = torch.Generator()
        self.gen.manual_seed(seed)

    def source(self):
        """Own stream, so that runs with another sampler see the same noise."""
        return self.gen

    def corrupt(self, x0):
        g = self.source()
        t = torch.randint(0, self.T, (len(x0),), generator=g)
        eps = torch.randn(x0.shape, generator=g)
        ab = self.bar[t].unsqueeze(1)
        return ab.sqrt() * x0 + (1 - ab).sqrt() * eps, t, eps


class Denoiser(nn.Module):
    def __init__(self, T, w=64):
        super().__init__()
        freq = torch.arange(1, 9) * math.pi / T
        self.register_buffer("freq", freq)
        self.net = nn.Sequential(nn.Linear(2 + 16, w), nn.SiLU(), nn.Linear(w, w), nn.SiLU(), nn.Linear(w, 2))

    def forward(self, x, t):
        ang = t.unsqueeze(1) * self.freq
        return self.net(torch.cat([x, ang.sin(), ang.cos()], 1))


def ring(n, g):
    a = torch.randint(0, 6, (n,), generator=g) * (2 * math.pi / 6)
    return torch.stack([a.cos(), a.sin()], 1) * 1.5 + 0.08 * torch.randn(n, 2, generator=g)


@torch.no_grad()
def held_out(model, proc, x, rounds=10):
    g = torch.Generator().manual_seed(1234)
    tot = 0.0
    for _ in range(rounds):
        t = torch.randint(0, proc.T, (len(x),), generator=g)
        eps = torch.randn(x.shape, generator=g)
        ab = proc.bar[t].unsqueeze(1)
        tot += (model(ab.sqrt() * x + (1 - ab).sqrt() * eps, t) - eps).square().mean().item()
    return tot / rounds


def main(c):
    torch.manual_seed(c["seed"])
    g = torch.Generator().manual_seed(5)
    data, held = ring(c["n"], g), ring(500, g)
    proc, model = Process(c["T"], c["seed"]), Denoiser(c["T"])
    opt = torch.optim.Adam(model.parameters(), lr=c["lr"])
    for ep in range(c["epochs"]):
        acc = 0.0
        for ix in torch.randperm(c["n"], generator=g).split(c["batch"]):
            xt, t, eps = proc.corrupt(data[ix])
            loss = (model(xt, t) - eps).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            acc += loss.item() * len(ix)
        if ep % 3 == 0:
            print(f"ep {ep:2d} train {acc / c['n']:.4f} held-out {held_out(model, proc, held):.4f}")


main(CFG)
