import math

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import LambdaLR, StepLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
x = torch.randn(640, 10)
y = (x[:, 0] + x[:, 1] ** 2 > 0.7).long()
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
backbone = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
head = nn.Linear(32, 2)
loss_fn = nn.CrossEntropyLoss()


def one_epoch(optimizer, scheduler=None):
    last = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = loss_fn(head(backbone(xb)), yb)
        loss.backward()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        last = loss.item()
    return last


# phase 1: the head alone
backbone.requires_grad_(False)
opt1 = torch.optim.SGD(head.parameters(), lr=0.05)
for epoch in range(1):
    print("head", one_epoch(opt1))

# phase 2: everything, warm-up then cosine
backbone.requires_grad_(True)
opt2 = torch.optim.AdamW([*backbone.parameters(), *head.parameters()], lr=3e-3)
total = 4 * len(loader)
warmup = total // 10


def shape(step):
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))


sched = LambdaLR(opt1, shape)
for epoch in range(4):
    print("all", one_epoch(opt2, sched), [g["lr"] for g in opt2.param_groups])
