import argparse

import torch
from torch import nn, optim


class Generator(nn.Module):
    def __init__(self, z):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(z, 48), nn.ReLU(), nn.Linear(48, 2))

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(2, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1),
        )

    def forward(self, x):
        return self.main(x).flatten()


def real_batch(n):
    k = torch.randint(8, (n,)) * (6.2832 / 8)
    return torch.stack([k.cos(), k.sin()], 1) * 2 + 0.05 * torch.randn(n, 2)


def main(opt):
    torch.manual_seed(opt.seed)
    G, D = Generator(opt.nz), Discriminator()
    optG = optim.Adam(G.parameters(), lr=opt.lr, betas=(0.5, 0.999))
    optD = optim.Adam(D.parameters(), lr=opt.lr, betas=(0.5, 0.999))
    bce = nn.BCEWithLogitsLoss()
    ones, zeros = torch.ones(opt.bs), torch.zeros(opt.bs)
    for it in range(opt.iters):
        # generator first
        fake = G(torch.randn(opt.bs, opt.nz))
        lossG = bce(D(fake), ones)
        optG.zero_grad()
        lossG.backward()
        optG.step()
        # discriminator
        optD.zero_grad()
        lossD = bce(D(real_batch(opt.bs)), ones) + bce(D(fake.detach()), zeros)
        lossD.backward()
        optD.step()
        if it % 40 == 0:
            print(f"{it:4d} G {lossG.item():.3f} D {lossD.item():.3f}")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--nz", type=int, default=4)
    ap.add_argument("--bs", type=int, default=64)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--iters", type=int, default=160)
    ap.add_argument("--seed", type=int, default=0)
    main(ap.parse_args())
