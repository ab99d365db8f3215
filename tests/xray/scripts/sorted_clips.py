import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    """Clips stored folder by folder: all of class 0, then class 1, ..."""

    def __init__(self, per_class, seed, classes=4):
        g = torch.Generator().manual_seed(seed)
        self.samples = []
        for c in range(classes):
            for _ in range(per_class):
                self.samples.append((torch.randn(24, generator=g) + c * 0.4, c))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        x, c = self.samples[i]
        return x, torch.tensor(c)


def build_model():
    return nn.Sequential(nn.Linear(24, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 4))


def main():
    torch.manual_seed(8)
    train_set, val_set = Clips(45, 0), Clips(20, 1)
    train_loader = DataLoader(train_set, batch_size=25)
    val_loader = DataLoader(val_set, batch_size=80)
    model = build_model()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(6):
        model.train()
        for x, y in train_loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            acc = sum((model(x).argmax(1) == y).sum().item() for x, y in val_loader) / len(val_set)
        print(f"epoch {epoch} val acc {acc:.3f}")


main()
