"""Gradient accumulation whose last group is short; each group is divided by its own number of samples."""
import torch
from torch import nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import OneCycleLR

torch.manual_seed(52)
MICRO, ACC, EPOCHS = 20, 4, 6
N = 930  # 47 micro-batches: 11 full groups and one of 3, whose last micro-batch has 10 rows


def make(n):
    x = torch.randn(n, 14)
    y = torch.sin(x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] + 0.1 * torch.randn(n)
    return x, y


x, y = make(N)
xv, yv = make(300)
net = nn.Sequential(nn.Linear(14, 64), nn.GELU(), nn.Linear(64, 1))
opt = torch.optim.AdamW(
    [{"params": [p for p in net.parameters() if p.ndim > 1], "weight_decay": 0.01},
     {"params": [p for p in net.parameters() if p.ndim == 1], "weight_decay": 0.0}], lr=1e-3)

micro_per_epoch = -(-N // MICRO)
updates = EPOCHS * -(-micro_per_epoch // ACC)
sched = OneCycleLR(opt, max_lr=1e-2, total_steps=updates)


def micro_batches():
    order = torch.randperm(N)
    return [order[k:k + MICRO] for k in range(0, N, MICRO)]


done = 0
for epoch in range(EPOCHS):
    net.train()
    total = 0.0
    pieces = micro_batches()
    for start in range(0, len(pieces), ACC):
        group = pieces[start:start + ACC]
        size = sum(len(g) for g in group)
        opt.zero_grad()
        for idx in group:
            err = F.mse_loss(net(x[idx]).squeeze(1), y[idx], reduction="sum")
            (err / size).backward()
            total += err.item()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        opt.step()
        done += 1
        sched.step()
    net.eval()
    with torch.no_grad():
        val = F.mse_loss(net(xv).squeeze(1), yv).item()
    print(f"epoch {epoch} train {total / N:.4f} val {val:.4f} lr {sched.get_last_lr()[0]:.2e}")
assert done == updates
