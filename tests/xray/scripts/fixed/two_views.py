"""Contrastive pre-training on two noisy views, judged by a nearest-centroid probe."""
import functools
import time

import torch
from torch import nn
import torch.nn.functional as F

SETTINGS = {
    "dim": 40, "code": 16, "proj": 32, "classes": 8,
    "batch": 80, "epochs": 10, "tau": 0.2, "lr": 3e-3,
    "lean_encode": False,
}
CLOCK = {"encode": 0.0, "calls": 0}


def clocked(fn):
    """Times the encoder; lean mode does not store activations."""
    @functools.wraps(fn)
    def inner(self, *a):
        t0 = time.perf_counter()
        with torch.set_grad_enabled(torch.is_grad_enabled() and not SETTINGS["lean_encode"]):
            out = fn(self, *a)
        CLOCK["encode"] += time.perf_counter() - t0
        CLOCK["calls"] += 1
        return out
    return inner


class Views:
    def __init__(self, n, gen, mix, means):
        self.y = torch.randint(0, SETTINGS["classes"], (n,), generator=gen)
        self.core = means[self.y] + 0.25 * torch.randn(n, 6, generator=gen)
        self.mix, self.gen = mix, gen

    def look(self, idx):
        k = len(idx)
        nuis = 2.0 * torch.randn(k, 14, generator=self.gen)
        return torch.tanh(torch.cat([self.core[idx], nuis], 1) @ self.mix)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        s = SETTINGS
        self.net = nn.Sequential(nn.Linear(s["dim"], 96), nn.ReLU(), nn.Linear(96, s["code"]))

    @clocked
    def forward(self, x):
        return self.net(x)


def info_nce(a, b, tau):
    a, b = F.normalize(a, dim=1), F.normalize(b, dim=1)
    sim = a @ b.T / tau
    tgt = torch.arange(len(a))
    return 0.5 * (F.cross_entropy(sim, tgt) + F.cross_entropy(sim.T, tgt))


@torch.no_grad()
def probe(enc, train, test):
    enc.eval()
    zt = F.normalize(enc(train.look(torch.arange(len(train.y)))), dim=1)
    ze = F.normalize(enc(test.look(torch.arange(len(test.y)))), dim=1)
    cent = torch.stack([zt[train.y == k].mean(0) for k in range(SETTINGS["classes"])])
    enc.train()
    return ((ze @ cent.T).argmax(1) == test.y).float().mean().item()


def main():
    s = SETTINGS
    gen = torch.Generator().manual_seed(4)
    torch.manual_seed(4)
    mix = torch.randn(20, s["dim"], generator=gen) / 4
    means = torch.randn(s["classes"], 6, generator=gen) * 1.2
    train, test = Views(1600, gen, mix, means), Views(500, gen, mix, means)
    enc = Encoder()
    head = nn.Sequential(nn.Linear(s["code"], s["proj"]), nn.ReLU(), nn.Linear(s["proj"], s["proj"]))
    opt = torch.optim.Adam([*enc.parameters(), *head.parameters()], lr=s["lr"])
    print(f"start probe {probe(enc, train, test):.3f}")
    for ep in range(s["epochs"]):
        total = 0.0
        for idx in torch.randperm(1600, generator=gen).split(s["batch"]):
            loss = info_nce(head(enc(train.look(idx))), head(enc(train.look(idx))), s["tau"])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        print(f"ep {ep} nce {total / 1600:.4f} probe {probe(enc, train, test):.3f}")
    print(f"encode: {CLOCK['calls']} calls")


if __name__ == "__main__":
    main()
