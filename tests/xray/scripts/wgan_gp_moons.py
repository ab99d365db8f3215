"""WGAN-GP: five critic steps per generator step, gradient penalty, EMA generator."""
import copy
import itertools
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class HP:
    z: int = 4
    width: int = 48
    batch: int = 64
    critic_steps: int = 5
    penalty: float = 1.0
    steps: int = 400
    lr: float = 1e-3
    ema: float = 0.98


def moons(batch):
    while True:
        t = torch.rand(batch) * 3.14159
        upper = (torch.rand(batch) < 0.5).float()
        px = upper * torch.cos(t) + (1 - upper) * (1 - torch.cos(t))
        py = upper * torch.sin(t) + (1 - upper) * (0.5 - torch.sin(t))
        yield torch.stack([px, py], 1) + 0.05 * torch.randn(batch, 2)


def net(n_in, n_out, width):
    return nn.Sequential(nn.Linear(n_in, width), nn.LeakyReLU(0.2),
                         nn.Linear(width, width), nn.LeakyReLU(0.2), nn.Linear(width, n_out))


def gradient_penalty(critic, real, fake):
    eps = torch.rand(real.size(0), 1)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    grad, = torch.autograd.grad(critic(mix).sum(), mix, create_graph=True)
    return (grad.norm(dim=1) - 1).pow(2).mean()


def set_grad(module, flag):
    for p in module.parameters():
        p.requires_grad_(flag)


def train(hp):
    torch.manual_seed(10)
    gen, critic = net(hp.z, 2, hp.width), net(2, 1, hp.width)
    gen_ema = copy.deepcopy(gen).eval()
    set_grad(gen_ema, False)
    opt_g = torch.optim.Adam(gen.parameters(), lr=hp.lr, betas=(0.0, 0.9))
    opt_c = torch.optim.Adam(critic.parameters(), lr=hp.lr, betas=(0.0, 0.9))
    data = moons(hp.batch)

    for step in range(1, hp.steps + 1):
        set_grad(critic, True)
        for real in itertools.islice(data, hp.critic_steps):
            with torch.no_grad():
                fake = gen(torch.randn(hp.batch, hp.z))
            gap = critic(real).mean() - critic(fake).mean()
            loss_c = -gap + hp.penalty * gradient_penalty(critic, real, fake)
            opt_c.zero_grad(set_to_none=True)
            loss_c.backward()
            opt_c.step()

        set_grad(critic, False)
        loss_g = -critic(gen(torch.randn(hp.batch, hp.z))).mean()
        opt_g.zero_grad(set_to_none=True)
        loss_g.backward()
        opt_g.step()
        with torch.no_grad():
            decay = min(hp.ema, step / (step + 10))
            for e, p in zip(gen_ema.parameters(), gen.parameters()):
                e.mul_(decay).add_(p, alpha=1 - decay)
        if step % 100 == 0:
            print(f"step {step} wasserstein estimate {gap.item():.4f} loss_g {loss_g.item():.4f}")
    return gen_ema


if __name__ == "__main__":
    hp = HP()
    gen = train(hp)
    with torch.no_grad():
        real = next(moons(1000))
        fake = gen(torch.randn(1000, hp.z))
        near = torch.cdist(fake, real).min(1).values.mean().item()
        cover = torch.cdist(real, fake).min(1).values.mean().item()
    print(f"distance fake->real {near:.4f} real->fake {cover:.4f}")
