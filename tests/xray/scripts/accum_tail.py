"""Crop yield regression: accumulation with a short last group, warm-up per update, weight decay groups."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
EPOCHS, MICRO, ACCUM, LR = 8, 16, 4, 0.05


def plots(n):
    x = torch.randn(n, 14)
    y = x[:, 0] * x[:, 1] + torch.relu(x[:, 2]) - 0.5 * x[:, 3] + 0.1 * torch.randn(n)
    return TensorDataset(x, y)


def param_groups(model, wd):
    decay, rest = [], []
    for name, p in model.named_parameters():
        (rest if p.ndim == 1 or name.endswith("bias") else decay).append(p)
    return [{"params": decay, "weight_decay": wd}, {"params": rest, "weight_decay": 0.0}]


train_loader = DataLoader(plots(850), batch_size=MICRO, shuffle=True)
val_loader = DataLoader(plots(330), batch_size=100)
model = nn.Sequential(nn.Linear(14, 64), nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(param_groups(model, 1e-3), lr=LR, momentum=0.9)
updates = EPOCHS * -(-len(train_loader) // ACCUM)
warmup = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, total_iters=10)
cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=updates - 10)
scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warmup, cosine], milestones=[10])

for epoch in range(EPOCHS):
    model.train()
    n_batches, running = len(train_loader), 0.0
    tail = n_batches % ACCUM
    optimizer.zero_grad()
    for i, (x, y) in enumerate(train_loader):
        group = tail if tail and i >= n_batches - tail else ACCUM
        loss = nn.functional.mse_loss(model(x).squeeze(-1), y)
        (loss / group).backward()
        running += loss.item() * len(y)
        if (i + 1) % ACCUM == 0 or i + 1 == n_batches:
            gn = nn.utils.clip_grad_norm_(model.parameters(), 2.0)
            optimizer.step()
            optimizer.zero_grad()
            scheduler.step()
    model.eval()
    se = 0.0
    with torch.no_grad():
        for x, y in val_loader:
            se += nn.functional.mse_loss(model(x).squeeze(-1), y, reduction="sum").item()
    print(f"epoch {epoch} train {running / len(train_loader.dataset):.4f} val {se / len(val_loader.dataset):.4f} "
          f"lr {scheduler.get_last_lr()[0]:.5f} last |g| {gn:.3f}")
