"""Sharpness-aware training with gradient accumulation on a small text-like feature set."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(8)
ACCUM, RHO, EPOCHS = 4, 0.05, 8


class ResMLP(nn.Module):
    def __init__(self, d=32, h=64, classes=6):
        super().__init__()
        self.inp = nn.Linear(d, h)
        self.norm1 = nn.LayerNorm(h)
        self.mid = nn.Linear(h, h)
        self.norm2 = nn.LayerNorm(h)
        self.out = nn.Linear(h, classes)

    def forward(self, x):
        h = self.norm1(self.inp(x))
        h = h + F.gelu(self.mid(h))
        return self.out(self.norm2(h))


def perturb(model):
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    norm = torch.stack([g.norm() for g in grads]).norm() + 1e-12
    eps = []
    with torch.no_grad():
        for p in model.parameters():
            e = RHO * p.grad / norm
            p.add_(e)
            eps.append(e)
    return eps


def restore(model, eps):
    with torch.no_grad():
        for p, e in zip(model.parameters(), eps):
            p.sub_(e)


def make_data(n):
    proto = torch.randn(6, 32, generator=torch.Generator().manual_seed(5))
    y = torch.randint(0, 6, (n,))
    return TensorDataset(0.8 * proto[y] + 1.3 * torch.randn(n, 32), y)


def chunks(loader, size):
    group = []
    for batch in loader:
        group.append(batch)
        if len(group) == size:
            yield group
            group = []


train_loader = DataLoader(make_data(640), batch_size=8, shuffle=True, drop_last=True)
val_x, val_y = make_data(500).tensors
model = ResMLP()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.03)

for epoch in range(EPOCHS):
    model.train()
    total = 0.0
    for group in chunks(train_loader, ACCUM):
        optimizer.zero_grad()
        for x, y in group:
            loss = F.cross_entropy(model(x), y) / ACCUM
            loss.backward()
            total += loss.item()
        eps = perturb(model)
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        restore(model, eps)
        optimizer.step()
    model.eval()
    with torch.no_grad():
        out = model(val_x)
        acc = (out.argmax(1) == val_y).float().mean().item()
        vloss = F.cross_entropy(out, val_y).item()
    print(f"epoch {epoch} loss {total / (len(train_loader) // ACCUM):.4f} val {vloss:.4f} acc {acc:.4f} "
          f"norm weight {model.norm1.weight.mean().item():.3f}")
