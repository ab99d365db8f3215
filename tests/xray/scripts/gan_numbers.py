# GAN for 1-d samples; one forward of G serves both updates (retain_graph)
import torch
import torch.nn as nn

torch.manual_seed(10)
bce = nn.BCELoss()
G = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
D = nn.Sequential(nn.Linear(1, 32), nn.LeakyReLU(0.1), nn.Linear(32, 32), nn.LeakyReLU(0.1), nn.Linear(32, 1), nn.Sigmoid())
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.99))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.99))
sched_g = torch.optim.lr_scheduler.ExponentialLR(opt_g, gamma=0.995)
sched_d = torch.optim.lr_scheduler.ExponentialLR(opt_d, gamma=0.995)


def real_batch(n):
    return 1.5 + 0.6 * torch.randn(n, 1).tanh()


B = 128
ones, zeros = torch.ones(B, 1), torch.zeros(B, 1)
for it in range(400):
    real = real_batch(B)
    fake = G(torch.randn(B, 3))

    # 1. discriminator: the gradient that reaches G here is thrown away below
    opt_d.zero_grad()
    d_loss = bce(D(real), 0.9 * ones) + bce(D(fake), zeros)
    d_loss.backward(retain_graph=True)
    opt_d.step()

    # 2. generator (판별자가 업데이트된 뒤 다시 계산)
    opt_g.zero_grad()
    g_loss = bce(D(fake), ones)
    g_loss.backward()
    opt_g.step()
    sched_d.step()
    sched_g.step()
    if it % 100 == 99:
        print(f"{it + 1:4d} d {d_loss.item():.4f} g {g_loss.item():.4f} lr {sched_g.get_last_lr()[0]:.2e}")

with torch.no_grad():
    s = G(torch.randn(4000, 3))
print(f"mean {s.mean().item():.3f} (data 1.5)  std {s.std().item():.3f} (data {real_batch(4000).std().item():.3f})")
