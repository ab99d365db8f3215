"""Actor-critic style alternation: two optimizers, several backwards with retain_graph, penalty loss apart, hooks."""
import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
A, B = nn.Linear(5, 5), nn.Linear(5, 5)
judge = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 1))
opt_ab = torch.optim.Adam(itertools.chain(A.parameters(), B.parameters()), lr=2e-3)
opt_j = torch.optim.Adam(judge.parameters(), lr=1e-3)
for p in judge.parameters():
    p.register_hook(lambda g: g.clamp(-1, 1))
rot = torch.linalg.qr(torch.randn(5, 5))[0]
for it in range(80):
    x = torch.randn(32, 5)
    y = torch.randn(32, 5) @ rot + 0.3
    fake = A(x)
    cyc = F.l1_loss(B(fake), x)
    opt_ab.zero_grad()
    cyc.backward(retain_graph=True)
    judge.requires_grad_(False)
    adv = F.mse_loss(judge(fake), torch.ones(32, 1))
    adv.backward()
    opt_ab.step()
    judge.requires_grad_(True)
    opt_j.zero_grad()
    (0.5 * F.mse_loss(judge(y), torch.ones(32, 1))).backward()
    (0.5 * F.mse_loss(judge(fake.detach()), torch.zeros(32, 1))).backward()
    opt_j.step()
    if it % 20 == 0:
        print(it, f"cycle {cyc.item():.3f} adv {adv.item():.3f}")
