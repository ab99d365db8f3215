"""GAN where each player only ever receives its own gradients (torch.autograd.grad with inputs)."""
import torch
from torch import nn
import torch.nn.functional as F


def net(i, o, h=40):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2), nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, o))


def moons(n, gen):
    t = torch.rand(n, generator=gen) * 3.1416
    up = torch.rand(n, generator=gen) < 0.5
    x = torch.where(up, t.cos(), 1 - t.cos())
    y = torch.where(up, t.sin(), 0.5 - t.sin())
    return torch.stack([x, y], 1) + 0.05 * torch.randn(n, 2, generator=gen)


def descend(opt, loss):
    """set .grad only for what this optimizer owns, then move"""
    params = [p for g in opt.param_groups for p in g["params"]]
    for p, grad in zip(params, torch.autograd.grad(loss, params)):
        p.grad = grad
    opt.step()


torch.manual_seed(1)
gen = torch.Generator().manual_seed(2)
G, D = net(3, 2), net(2, 1)
og = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.99))
od = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.99))
smooth = {k: v.detach().clone() for k, v in G.state_dict().items()}

for it in range(1, 201):
    fake = G(torch.randn(64, 3))
    real = moons(64, gen)
    d_loss = F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()
    descend(od, d_loss)
    g_loss = F.softplus(-D(fake)).mean()
    descend(og, g_loss)
    with torch.no_grad():
        for k, v in G.state_dict().items():
            smooth[k].lerp_(v, 0.03)
    if it % 50 == 0:
        with torch.no_grad():
            s = torch.func.functional_call(G, smooth, (torch.randn(400, 3),))
        print(f"{it} d {d_loss.item():.3f} g {g_loss.item():.3f} mean {s.mean(0).tolist()} std {s.std(0).tolist()}")
