"""WGAN-GP on a ring of eight Gaussians."""
import math

import torch
from torch import autograd, nn


class Config:
    z = 8
    hidden = 64
    batch = 128
    critic_iters = 3
    gp = 2.0
    lr_g = 1e-3
    lr_d = 3e-3
    steps = 500
    seed = 0


def ring(n):
    k = torch.randint(8, (n,)) * (2 * math.pi / 8)
    return torch.stack([k.cos(), k.sin()], 1) * 2 + 0.08 * torch.randn(n, 2)


def net(i, o, h, act):
    return nn.Sequential(nn.Linear(i, h), act(), nn.Linear(h, h), act(), nn.Linear(h, o))


def interpolate(real, fake):
    eps = torch.rand(len(real), 1)
    return (eps * real + (1 - eps) * fake).detach().requires_grad_(True)


def penalty(critic, real, fake):
    mid = interpolate(real, fake)
    score = critic(mid)
    grad, = autograd.grad(score.sum(), mid, create_graph=True)
    return (grad.norm(2, dim=1) - 1).pow(2).mean()


def slope(critic, real, fake):
    mid = interpolate(real, fake)
    g, = autograd.grad(critic(mid).sum(), mid)
    return g.norm(dim=1).mean().item()


def coverage(x):
    ang = torch.arange(8) * (2 * math.pi / 8)
    centres = torch.stack([ang.cos(), ang.sin()], 1) * 2
    d = torch.cdist(x, centres)
    near = d.min(1)
    good = near.values < 0.4
    return good.float().mean().item(), len(near.indices[good].unique())


def main(cfg=Config):
    torch.manual_seed(cfg.seed)
    gen = net(cfg.z, 2, cfg.hidden, nn.ReLU)
    critic = net(2, 1, cfg.hidden, lambda: nn.LeakyReLU(0.2))
    opt_g = torch.optim.Adam(gen.parameters(), lr=cfg.lr_g, betas=(0.5, 0.9))
    opt_d = torch.optim.Adam(critic.parameters(), lr=cfg.lr_d, betas=(0.5, 0.9))

    for step in range(cfg.steps):
        opt_g.zero_grad()
        for _ in range(cfg.critic_iters):
            real = ring(cfg.batch)
            fake = gen(torch.randn(cfg.batch, cfg.z)).detach()
            gap = critic(real).mean() - critic(fake).mean()
            loss_d = -gap + cfg.gp * penalty(critic, real, fake)
            opt_d.zero_grad()
            loss_d.backward()
            opt_d.step()

        loss_g = -critic(gen(torch.randn(cfg.batch, cfg.z))).mean()
        loss_g.backward()
        opt_g.step()

        if (step + 1) % 100 == 0:
            with torch.no_grad():
                x = gen(torch.randn(2000, cfg.z))
            share, modes = coverage(x)
            print(f"{step + 1}: gap {gap.item():.3f} slope {slope(critic, real, x[:cfg.batch]):.2f} "
                  f"on-ring {share:.3f} modes {modes}")


if __name__ == "__main__":
    main()
