"""Warm restarts stepped per batch (fractional epochs) and weight averaging over the last epochs."""
import copy
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts
from torch.optim.swa_utils import AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Cfg:
    epochs: int = 9
    t0: int = 3
    lr: float = 0.1
    swa_from: int = 6
    batch: int = 50


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 64),
                                  nn.BatchNorm1d(64), nn.ReLU())
        self.head = nn.Linear(64, 3)

    def forward(self, x):
        return self.head(self.body(x))


def stars(n):
    x = torch.randn(n, 12)
    s = x[:, 0] * x[:, 1] + x[:, 2].abs() - x[:, 3]
    return x, torch.bucketize(s + 0.2 * torch.randn(n), torch.tensor([0.0, 1.2]))


def evaluate(model, loader):
    was_training = model.training
    model.eval()
    ok = 0
    with torch.no_grad():
        for x, y in loader:
            ok += (model(x).argmax(1) == y).sum().item()
    model.train(was_training)
    return ok / len(loader.dataset)


def main(cfg=Cfg()):
    torch.manual_seed(2)
    train_loader = DataLoader(TensorDataset(*stars(1000)), batch_size=cfg.batch, shuffle=True)
    val_loader = DataLoader(TensorDataset(*stars(420)), batch_size=128)
    model = Net().train()
    swa = AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=0.9, weight_decay=5e-4)
    scheduler = CosineAnnealingWarmRestarts(optimizer, T_0=cfg.t0)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    best, best_weights = 0.0, None
    for epoch in range(cfg.epochs):
        total = 0.0
        for i, (x, y) in enumerate(train_loader):
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step(epoch + (i + 1) / len(train_loader))
            total += loss.item() * len(y)
        if epoch >= cfg.swa_from:
            swa.update_parameters(model)
        acc = evaluate(model, val_loader)
        if acc > best:
            best, best_weights = acc, copy.deepcopy(model.state_dict())
        print(f"epoch {epoch} loss {total / len(train_loader.dataset):.4f} acc {acc:.4f} lr {scheduler.get_last_lr()[0]:.4f}")
    update_bn(train_loader, swa)
    print(f"swa acc {evaluate(swa, val_loader):.4f}")
    model.load_state_dict(best_weights)
    print(f"best {best:.4f} restored {evaluate(model, val_loader):.4f}")


if __name__ == "__main__":
    main()
