import torch
import torch.nn as nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 2))
C = nn.Sequential(nn.Linear(2, 48), nn.ReLU(), nn.Linear(48, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.9))
opt_c = torch.optim.Adam(C.parameters(), lr=1e-3, betas=(0.0, 0.9))
N_CRITIC, BATCH = 3, 64


def sample_real():
    t = torch.rand(BATCH) * 6.2832
    return torch.stack([t.cos(), t.sin()], 1) + 0.02 * torch.randn(BATCH, 2)


def penalty(real, fake):
    eps = torch.rand(BATCH, 1)
    mid = (eps * real + (1 - eps) * fake).requires_grad_(True)
    (grad,) = torch.autograd.grad(C(mid).sum(), mid, create_graph=True)
    return ((grad.norm(dim=1) - 1) ** 2).mean()


for it in range(60):
    for p in C.parameters():
        p.requires_grad_(True)
    for _ in range(N_CRITIC):
        C.zero_grad()
        real, fake = sample_real(), G(torch.randn(BATCH, 6)).detach()
        loss_c = C(fake).mean() - C(real).mean() + 10 * penalty(real, fake)
        loss_c.backward()
        opt_c.step()
    for p in C.parameters():
        p.requires_grad_(False)
    G.zero_grad()
    loss_g = -C(G(torch.randn(BATCH, 6))).mean()
    loss_g.backward()
    opt_g.step()
    if it % 15 == 0:
        print(it, f"critic {loss_c.item():.3f} gen {loss_g.item():.3f}")
