"""Leaf disease from spectra: a large lab set and a small, biased field set, one model."""
from itertools import cycle

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(31)
BANDS, CLASSES = 20, 4
centers = torch.randn(CLASSES, BANDS)


def sample_set(n, classes, noise):
    y = classes[torch.randint(0, len(classes), (n,))]
    x = centers[y] + noise * torch.randn(n, BANDS)
    return TensorDataset(x, y)


lab_loader = DataLoader(sample_set(1200, torch.arange(4), 1.2), batch_size=40, shuffle=True)
field_loader = DataLoader(sample_set(160, torch.tensor([0, 1, 2]), 1.6), batch_size=40, shuffle=True)
test_loader = DataLoader(sample_set(600, torch.arange(4), 1.4), batch_size=200)

model = nn.Sequential(nn.Linear(BANDS, 64), nn.ReLU(), nn.Linear(64, CLASSES))
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)
scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=4, gamma=0.3)


def evaluate():
    model.eval()
    right, total = torch.zeros(CLASSES), torch.zeros(CLASSES)
    with torch.no_grad():
        for x, y in test_loader:
            ok = (model(x).argmax(1) == y).float()
            right.index_add_(0, y, ok)
            total.index_add_(0, y, torch.ones_like(ok))
    return right.sum() / total.sum(), right / total


for epoch in range(8):
    model.train()
    field = cycle(field_loader)
    seen, running = torch.zeros(CLASSES, dtype=torch.long), 0.0
    for x, y in lab_loader:
        xf, yf = next(field)
        x, y = torch.cat([x, xf]), torch.cat([y, yf])
        seen += torch.bincount(y, minlength=CLASSES)
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    scheduler.step()
    acc, per_class = evaluate()
    print(f"epoch {epoch} loss {running / len(lab_loader):.4f} acc {acc:.3f} per class "
          + " ".join(f"{v:.2f}" for v in per_class.tolist()) + f" seen {seen.tolist()}")
