# GAN on a ring of eight gaussians
import math
import torch
from torch import nn

torch.manual_seed(12)
NOISE, B = 8, 128

G = nn.Sequential(nn.Linear(NOISE, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
D = nn.Sequential(
    nn.Linear(2, 64), nn.LeakyReLU(0.2),
    nn.Linear(64, 64), nn.LeakyReLU(0.2),
    nn.Linear(64, 1),
    nn.Sigmoid(),
)
bce = nn.BCEWithLogitsLoss()
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.99))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.99))


def real(n):
    k = torch.randint(0, 8, (n,)) * (2 * math.pi / 8)
    return torch.stack([torch.cos(k), torch.sin(k)], 1) * 2 + 0.1 * torch.randn(n, 2)


ones, zeros = torch.ones(B, 1), torch.zeros(B, 1)
d_hist, g_hist = [], []

for it in range(600):
    # --- discriminator
    x = real(B)
    fake = G(torch.randn(B, NOISE)).detach()
    d_loss = bce(D(x), ones) + bce(D(fake), zeros)
    d_loss.backward()
    opt_d.step()
    opt_d.zero_grad()

    # --- generator
    fake = G(torch.randn(B, NOISE))
    g_loss = bce(D(fake), ones)
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()

    d_hist.append(d_loss.item())
    g_hist.append(g_loss.item())
    if (it + 1) % 100 == 0:
        print(f"it {it + 1}: D {sum(d_hist[-100:]) / 100:.4f}  G {sum(g_hist[-100:]) / 100:.4f}")

with torch.no_grad():
    sample = G(torch.randn(1000, NOISE))
    radius = sample.norm(dim=1)
    off = (radius - 2).abs().mean().item()
    angle = torch.atan2(sample[:, 1], sample[:, 0])
    modes = ((angle / (2 * math.pi / 8)).round().long() % 8).bincount(minlength=8)
print(f"mean distance to the ring {off:.3f}; modes hit {(modes > 30).sum().item()} of 8")
