"""Hinge GAN on a spiral, two time scales, generator average for sampling."""
import copy
import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.parametrizations import spectral_norm


def spiral(n):
    t = 1 + 2 * torch.rand(n) ** 0.5 * 3
    return torch.stack([t * t.cos(), t * t.sin()], 1) / 3 + 0.05 * torch.randn(n, 2)


def stream(batch):
    while True:
        yield spiral(batch)


class Discriminator(nn.Module):
    def __init__(self, h=64):
        super().__init__()
        dims = [2, h, h, 1]
        self.layers = nn.ModuleList(spectral_norm(nn.Linear(a, b)) for a, b in itertools.pairwise(dims))

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = F.leaky_relu(layer(x), 0.2)
        return self.layers[-1](x)


class Generator(nn.Sequential):
    def __init__(self, z, h=64):
        super().__init__(nn.Linear(z, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, h), nn.BatchNorm1d(h),
                         nn.ReLU(), nn.Linear(h, 2))


def toggle(net, flag):
    for p in net.parameters():
        p.requires_grad_(flag)


@torch.no_grad()
def blend(avg, live, decay=0.98):
    for a, l in zip(avg.state_dict().values(), live.state_dict().values()):
        if a.dtype.is_floating_point:
            a.mul_(decay).add_(l, alpha=1 - decay)
        else:
            a.copy_(l)


@torch.no_grad()
def distance(gen, z):
    gen.eval()
    fake, real = gen(torch.randn(500, z)), spiral(500)
    d = lambda a, b: torch.cdist(a, b).mean()
    return (2 * d(fake, real) - d(fake, fake) - d(real, real)).item()


def main(z=8, batch=128, steps=300):
    torch.manual_seed(0)
    G, D = Generator(z), Discriminator()
    G_avg = copy.deepcopy(G)
    toggle(G_avg, False)
    opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.9))
    opt_d = torch.optim.Adam(D.parameters(), lr=4e-3, betas=(0.0, 0.9))
    data = stream(batch)
    for step in range(steps):
        toggle(D, True)
        for _ in range(2):
            with torch.no_grad():
                fake = G(torch.randn(batch, z))
            real_part = F.relu(1 - D(next(data))).mean()
            fake_part = F.relu(1 + D(fake)).mean()
            opt_d.zero_grad()
            real_part.backward()
            fake_part.backward()
            opt_d.step()

        toggle(D, False)
        opt_g.zero_grad()
        g_loss = -D(G(torch.randn(batch, z))).mean()
        g_loss.backward()
        opt_g.step()
        blend(G_avg, G)
        if step % 100 == 99:
            print(f"{step + 1}: d {(real_part + fake_part).item():.3f} g {g_loss.item():.3f} "
                  f"energy distance {distance(G_avg, z):.4f}")


if __name__ == "__main__":
    main()
