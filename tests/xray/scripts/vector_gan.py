"""GAN on a spiral. D's gradients are cleared before D's own backward, so what G's backward leaves is harmless."""
import math
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(51)
B, Z = 96, 6


def block(i, o):
    return nn.Sequential(nn.Linear(i, o), nn.LeakyReLU(0.2))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(block(2, 48), block(48, 48))
        self.logit = nn.Linear(48, 1)

    def forward(self, x):
        return self.logit(self.body(x)).squeeze(1)


G = nn.Sequential(block(Z, 48), block(48, 48), nn.Linear(48, 2))
D = Critic()
adam = dict(lr=1e-3, betas=(0.5, 0.9))
opt_g, opt_d = torch.optim.Adam(G.parameters(), **adam), torch.optim.Adam(D.parameters(), **adam)


def real(n):
    t = torch.rand(n).sqrt() * 3 * math.pi
    return torch.stack([t * torch.cos(t), t * torch.sin(t)], 1) / 6 + 0.05 * torch.randn(n, 2)


def d_step():
    x, fake = real(B), G(torch.randn(B, Z)).detach()
    out = D(torch.cat([x, fake]))
    lab = torch.cat([torch.ones(B), torch.zeros(B)])
    loss = F.binary_cross_entropy_with_logits(out, lab)
    opt_d.zero_grad()
    loss.backward()
    opt_d.step()
    return loss.item()


def g_step():
    score = D(G(torch.randn(B, Z)))
    loss = F.softplus(-score).mean()
    opt_g.zero_grad()
    loss.backward()  # leaves gradients in D as well; d_step clears them first
    opt_g.step()
    return loss.item()


window = []
for it in range(400):
    window.append((d_step(), g_step()))
    if (it + 1) % 100 == 0:
        d, g = (sum(v) / len(v) for v in zip(*window))
        print(f"{it + 1}: D {d:.4f} G {g:.4f}")
        window.clear()

with torch.no_grad():
    s = G(torch.randn(500, Z))
    near = torch.cdist(s, real(500)).min(1).values.mean().item()
print(f"mean distance to the nearest real point {near:.4f}")
