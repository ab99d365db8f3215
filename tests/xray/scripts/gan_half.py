"""Hinge GAN with one gradient scaler shared by two optimizers, each with its own schedule."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(3)
STEPS, B = 200, 64
G = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))
D = nn.Sequential(nn.Linear(2, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.99))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.99))
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
fall = lambda s: 1 - s / STEPS
plans = [torch.optim.lr_scheduler.LambdaLR(o, fall) for o in (opt_g, opt_d)]


def real(n):
    a = torch.rand(n) * 6.2832
    return torch.stack([a.cos(), a.sin()], 1) + 0.05 * torch.randn(n, 2)


def half(net, x):
    with torch.autocast("cpu", dtype=torch.float16):
        return net(x).float()


def d_turn():
    fake = half(G, torch.randn(B, 6)).detach()
    loss = F.relu(1 - half(D, real(B))).mean() + F.relu(1 + half(D, fake)).mean()
    opt_d.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(opt_d)
    nn.utils.clip_grad_norm_(D.parameters(), 5.0)
    scaler.step(opt_d)
    return loss.item()


def g_turn():
    D.requires_grad_(False)
    loss = -half(D, half(G, torch.randn(B, 6))).mean()
    opt_g.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(opt_g)
    D.requires_grad_(True)
    return loss.item()


sd = sg = 0.0
for step in range(STEPS):
    sd, sg = sd + d_turn(), sg + g_turn()
    scaler.update()
    for p in plans:
        p.step()
    if step % 50 == 49:
        with torch.no_grad():
            r = G(torch.randn(500, 6)).norm(dim=1)
        print(f"{step} d {sd / 50:.3f} g {sg / 50:.3f} radius {r.mean().item():.3f}")
        sd = sg = 0.0
