"""WGAN-GP on a 2-D mixture of gaussians."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
N_CRITIC, LAMBDA, BS, Z = 3, 10.0, 64, 4

angles = torch.randint(0, 8, (1536,)).float() * 3.14159 / 4
points = torch.stack([angles.cos(), angles.sin()], 1) * 2 + 0.05 * torch.randn(1536, 2)
loader = DataLoader(TensorDataset(points), batch_size=BS, shuffle=True, drop_last=True)


def net(i, o):
    return nn.Sequential(nn.Linear(i, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, o))


G, D = net(Z, 2), net(2, 1)
opt_g = torch.optim.Adam(G.parameters(), lr=5e-4, betas=(0.0, 0.9))
opt_d = torch.optim.Adam(D.parameters(), lr=5e-4, betas=(0.0, 0.9))


def gradient_penalty(real, fake):
    eps = torch.rand(real.size(0), 1)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    out = D(mix)
    (g,) = torch.autograd.grad(out, mix, torch.ones_like(out), create_graph=True, retain_graph=True)
    return ((g.norm(2, dim=1) - 1) ** 2).mean()


def toggle(model, on):
    for p in model.parameters():
        p.requires_grad_(on)


step = 0
for epoch in range(2):
    w_sum = n_d = 0
    for (real,) in loader:
        toggle(D, True)
        opt_d.zero_grad(set_to_none=True)
        with torch.no_grad():
            fake = G(torch.randn(BS, Z))
        # the two critic terms are sent backward one by one and add up
        d_real = D(real).mean()
        (-d_real).backward()
        d_fake = D(fake).mean()
        d_fake.backward()
        gp = gradient_penalty(real, fake)
        (LAMBDA * gp).backward()
        opt_d.step()
        w_sum += (d_real - d_fake).item()
        n_d += 1
        step += 1
        if step % N_CRITIC == 0:
            toggle(D, False)  # critic only passes the gradient on
            opt_g.zero_grad(set_to_none=True)
            g_loss = -D(G(torch.randn(BS, Z))).mean()
            g_loss.backward()
            opt_g.step()
    print(f"epoch {epoch} wasserstein {w_sum / n_d:.4f} g_loss {g_loss.item():.4f} gp {gp.item():.4f}")
