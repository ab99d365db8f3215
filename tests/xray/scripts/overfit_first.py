import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

# Sanity check from a well-known blog post: can the network overfit ONE batch? Only then train for real.


class Melodies(Dataset):
    """sequence of 16 notes, class = contour (up, down, arch, valley)"""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        t = torch.linspace(-1, 1, 16)
        curves = torch.stack([t, -t, 1 - 2 * t.abs(), 2 * t.abs() - 1])
        self.y = torch.randint(0, 4, (n,), generator=g)
        offset = torch.randn(n, 1, generator=g)
        self.x = curves[self.y] + offset + 0.7 * torch.randn(n, 16, generator=g)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def build():
    return nn.Sequential(
        nn.Unflatten(1, (1, 16)),
        nn.Conv1d(1, 16, 3, padding=1), nn.BatchNorm1d(16), nn.ReLU(),
        nn.Conv1d(16, 16, 3, padding=1, stride=2), nn.BatchNorm1d(16), nn.ReLU(),
        nn.Flatten(), nn.Dropout(0.1), nn.Linear(16 * 8, 4))


def overfit_one_batch(batch, steps=60):
    torch.manual_seed(0)
    model = build()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x, y = batch
    model.train()
    for step in range(steps):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"one batch: loss {loss.item():.5f} after {steps} steps")
    return loss.item() < 0.05


def train(epochs=6):
    torch.manual_seed(0)
    loader = DataLoader(Melodies(640, 0), batch_size=32, shuffle=True)
    val = Melodies(300, 1)
    model = build()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="min", factor=0.5, patience=1)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
        model.eval()
        with torch.no_grad():
            out = model(val.x)
            val_loss = nn.functional.cross_entropy(out, val.y).item()
        plateau.step(val_loss)
        print(f"epoch {epoch} train {total / 640:.4f} val {val_loss:.4f} "
              f"acc {(out.argmax(1) == val.y).float().mean().item():.3f}")


if __name__ == "__main__":
    first = next(iter(DataLoader(Melodies(640, 0), batch_size=24, shuffle=True)))
    if overfit_one_batch(first):
        train()
    else:
        print("모델이 배치 하나도 외우지 못함")
