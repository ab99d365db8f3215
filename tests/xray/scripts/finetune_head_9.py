"""Pre-train on shapes A, fine-tune on shapes B (a stand-in for ImageNet -> custom data)."""
import argparse
import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, Subset

SIZE = 16


def draw(kind, rng):
    g = torch.zeros(SIZE, SIZE)
    a, b = rng.randint(2, 5), rng.randint(10, 13)
    m = (a + b) // 2
    if kind in (0, 2):
        g[a, a:b] = 1
    if kind in (0, 1, 4):
        g[a:b, m] = 1
    if kind in (1, 3):
        g[b, a:b] = 1
    if kind in (2, 5):
        g[a:b, a] = 1
    if kind in (3, 4, 5):
        for k in range(a, b):
            g[k, k] = 1
    return g[None]


def augment(img):
    img = torch.roll(img, (random.randint(-3, 3), random.randint(-3, 3)), dims=(1, 2))
    if random.random() < 0.5:
        img = img + 0.6 * torch.randn_like(img)
    if random.random() < 0.5:
        r, c = random.randrange(SIZE - 7), random.randrange(SIZE - 7)
        img = img.clone()
        img[:, r:r + 7, c:c + 7] = 0
    return img


class Shapes(Dataset):
    def __init__(self, kinds, n, seed, transform=None):
        rng = random.Random(seed)
        self.y = [rng.randrange(len(kinds)) for _ in range(n)]
        g = torch.Generator().manual_seed(seed)
        self.x = [draw(kinds[y], rng) + 0.2 * torch.randn(1, SIZE, SIZE, generator=g) for y in self.y]
        self.transform = transform

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        x = self.x[i]
        return (self.transform(x) if self.transform else x), self.y[i]


class Net(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.fc = nn.Linear(24 * 16, n_classes)

    def forward(self, x):
        return self.fc(self.features(x))


def run_epoch(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    total = correct = 0
    with torch.set_grad_enabled(optimizer is not None):
        for x, y in loader:
            out = model(x)
            loss = criterion(out, y)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(y)
            correct += (out.argmax(1) == y).sum().item()
    return total / len(loader.dataset), correct / len(loader.dataset)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--lr", type=float, default=1e-3)
    args = ap.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    criterion = nn.CrossEntropyLoss()

    model = Net(2)
    pre = DataLoader(Shapes([0, 3], 200, 1), batch_size=32, shuffle=True)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(2):
        run_epoch(model, pre, criterion, opt)

    full = Shapes([1, 2, 4, 5], 520, 2, transform=augment)
    train_set, val_set = Subset(full, range(400)), Subset(full, range(400, 520))
    train_loader = DataLoader(train_set, batch_size=25, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=60)

    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model.fc = nn.Linear(model.fc.in_features, 4)
    for epoch in range(args.epochs):
        tl, ta = run_epoch(model, train_loader, criterion, optimizer)
        vl, va = run_epoch(model, val_loader, criterion)
        print(f"{epoch}: train {tl:.4f}/{ta:.3f}  val {vl:.4f}/{va:.3f}")


if __name__ == "__main__":
    main()
