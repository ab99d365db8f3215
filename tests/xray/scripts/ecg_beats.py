"""Beat classification on (synthetic) single-lead ECG windows."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class BeatDataset(Dataset):
    def __init__(self, n, seed, length=96):
        rng = np.random.default_rng(seed)
        t = np.linspace(0, 1, length)
        self.y = rng.integers(0, 4, n)
        width = np.array([0.02, 0.035, 0.05, 0.02])[self.y]
        centre = 0.5 + 0.08 * rng.standard_normal(n)
        sig = np.exp(-((t[None] - centre[:, None]) ** 2) / (2 * width[:, None] ** 2))
        sig += np.where(self.y == 3, -0.6, 0.3)[:, None] * np.exp(-((t[None] - centre[:, None] - 0.2) ** 2) / 0.004)
        self.x = (sig + 0.35 * rng.standard_normal(sig.shape)).astype(np.float32)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i])[None], int(self.y[i])


class BeatNet(nn.Module):
    def __init__(self, width=16, n_classes=4):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv1d(1, width, 7, padding=3), nn.BatchNorm1d(width), nn.ReLU(), nn.MaxPool1d(2))
        self.body = nn.Sequential(nn.Conv1d(width, 2 * width, 5, padding=2), nn.BatchNorm1d(2 * width), nn.ReLU(),
                                  nn.MaxPool1d(4))
        self.drop = nn.Dropout(0.5)
        self.fc = nn.Linear(2 * width * 12, n_classes)

    def forward(self, x):
        return self.fc(self.drop(self.body(self.stem(x)).flatten(1)))


def train_epoch(model, loader, optimizer):
    model.train()
    seen, total = 0, 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * y.size(0)
        seen += y.size(0)
    return total / seen


@torch.no_grad()
def validate(model, loader):
    accs = []
    for x, y in loader:
        pred = model(x).argmax(1)
        accs.append((pred == y).float().mean().item())
    return sum(accs) / len(accs)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()
    torch.manual_seed(7)

    train_dl = DataLoader(BeatDataset(480, 1), batch_size=args.batch_size, shuffle=True)
    val_dl = DataLoader(BeatDataset(131, 2), batch_size=64)
    model = BeatNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(1, args.epochs + 1):
        loss = train_epoch(model, train_dl, optimizer)
        print(f"[{epoch}/{args.epochs}] train loss {loss:.4f}  val acc {validate(model, val_dl):.4f}")


if __name__ == "__main__":
    main()
