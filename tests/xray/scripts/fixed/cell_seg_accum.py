"""Cell density maps; images are large so we go one by one and accumulate."""
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class Config:
    epochs: int = 8
    accum: int = 8
    lr: float = 0.05
    seed: int = 11
    n_train: int = 96
    n_val: int = 40


class Cells(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.images, self.counts = [], []
        for _ in range(n):
            k = int(torch.randint(1, 25, (1,), generator=g))
            im = 0.2 * torch.rand(1, 32, 32, generator=g)
            pos = torch.randint(2, 30, (k, 2), generator=g)
            for r, c in pos.tolist():
                im[0, r - 1:r + 2, c - 1:c + 2] += 0.7
            self.images.append(im)
            self.counts.append(k / 10)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], torch.tensor([self.counts[i]])


def conv_block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.ReLU())


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(conv_block(1, 8), nn.MaxPool2d(2), conv_block(8, 16))
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        return self.head(self.features(x).mean(dim=(2, 3)))


def evaluate(model, loader):
    model.eval()
    err = 0.0
    with torch.no_grad():
        for x, y in loader:
            err += (model(x) - y).abs().sum().item()
    return 10 * err / len(loader.dataset)


def main(cfg):
    torch.manual_seed(cfg.seed)
    train_loader = DataLoader(Cells(cfg.n_train, 1), batch_size=1, shuffle=True)
    val_loader = DataLoader(Cells(cfg.n_val, 2), batch_size=1)
    model = Counter()
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=0.9)
    loss_fn = nn.SmoothL1Loss()
    for epoch in range(cfg.epochs):
        model.train()
        optimizer.zero_grad()
        total = 0.0
        for step, (x, y) in enumerate(train_loader):
            loss = loss_fn(model(x), y)
            (loss / cfg.accum).backward()
            total += loss.item()
            if (step + 1) % cfg.accum == 0:
                optimizer.step()
                optimizer.zero_grad()
        print(f"epoch {epoch}  train {total / len(train_loader):.4f}  val MAE {evaluate(model, val_loader):.3f} cells")


if __name__ == "__main__":
    main(Config())
