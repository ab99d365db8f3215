import argparse
import math

import torch
import torch.nn as nn


class Generator(nn.Module):
    def __init__(self, nz, width):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(nz, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2))

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(2, width), nn.LeakyReLU(0.2), nn.Linear(width, width), nn.LeakyReLU(0.2),
                                  nn.Linear(width, 1))

    def forward(self, x):
        return self.main(x).squeeze(1)


def real_batch(n, modes=6):
    k = torch.randint(0, modes, (n,))
    ang = 2 * math.pi * k / modes
    return 1.5 * torch.stack([ang.cos(), ang.sin()], 1) + 0.08 * torch.randn(n, 2)


@torch.no_grad()
def mode_stats(netG, nz, modes=6, n=600):
    ang = 2 * math.pi * torch.arange(modes) / modes
    centres = 1.5 * torch.stack([ang.cos(), ang.sin()], 1)
    d, k = torch.cdist(netG(torch.randn(n, nz)), centres).min(1)
    return (d < 0.35).float().mean().item(), k[d < 0.35].unique().numel()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nz", type=int, default=6)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    opt = parser.parse_args()
    torch.manual_seed(opt.seed)

    netG, netD = Generator(opt.nz, 96), Discriminator(96)
    bce = nn.BCEWithLogitsLoss()
    optG = torch.optim.Adam(netG.parameters(), lr=opt.lr, betas=(0.5, 0.99))
    optD = torch.optim.Adam(netD.parameters(), lr=opt.lr, betas=(0.5, 0.99))
    decay = 0.3 ** (1 / opt.steps)
    schedG = torch.optim.lr_scheduler.ExponentialLR(optG, decay)
    schedD = torch.optim.lr_scheduler.ExponentialLR(optD, decay)
    ones, zeros = torch.ones(opt.batch), torch.zeros(opt.batch)

    for step in range(1, opt.steps + 1):
        # generator
        optG.zero_grad()
        fake = netG(torch.randn(opt.batch, opt.nz))
        lossG = bce(netD(fake), ones)
        lossG.backward()
        optG.step()

        # discriminator
        optD.zero_grad()
        real = real_batch(opt.batch)
        lossD = 0.5 * (bce(netD(real), ones) + bce(netD(fake.detach()), zeros))
        lossD.backward()
        optD.step()
        schedG.step()
        schedD.step()
        if step % 400 == 0:
            frac, covered = mode_stats(netG, opt.nz)
            print(f"step {step} D {lossD.item():.3f} G {lossG.item():.3f} on-mode {frac:.3f} modes {covered}/6 "
                  f"lrG {optG.param_groups[0]['lr']:.1e} lrD {optD.param_groups[0]['lr']:.1e}")


if __name__ == "__main__":
    main()
