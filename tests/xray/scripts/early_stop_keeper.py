from __future__ import annotations

from dataclasses import dataclass, field

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Keeper:
    """Keeps the best weights in memory and says when to stop."""
    patience: int
    best: float = float("-inf")
    stale: int = 0
    state: dict = field(default_factory=dict)
    epoch: int = -1

    def update(self, value: float, epoch: int, model: nn.Module) -> bool:
        if value > self.best:
            self.best, self.epoch, self.stale = value, epoch, 0
            self.state = model.state_dict()
        else:
            self.stale += 1
        return self.stale > self.patience


@dataclass
class Split:
    x: torch.Tensor
    y: torch.Tensor

    def batches(self, size: int, shuffle: bool):
        order = torch.randperm(len(self.x)) if shuffle else torch.arange(len(self.x))
        for i in order.split(size):
            yield self.x[i], self.y[i]


def make_split(n: int, flip: float, g: torch.Generator) -> Split:
    w = torch.randn(30, 5, generator=torch.Generator().manual_seed(77))
    x = torch.randn(n, 30, generator=g)
    y = (x @ w + 0.3 * (x ** 2) @ w).argmax(1)
    bad = torch.rand(n, generator=g) < flip
    y = torch.where(bad, torch.randint(5, (n,), generator=g), y)
    return Split(x, y)


@torch.no_grad()
def accuracy(model: nn.Module, split: Split) -> float:
    model.eval()
    hits = sum((model(x).argmax(1) == y).sum().item() for x, y in split.batches(256, False))
    model.train()
    return hits / len(split.x)


def train() -> None:
    torch.manual_seed(4)
    g = torch.Generator().manual_seed(0)
    tr, va, te = make_split(1200, 0.3, g), make_split(500, 0.0, g), make_split(2000, 0.0, g)
    model = nn.Sequential(nn.Linear(30, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 5))
    opt = torch.optim.AdamW(model.parameters(), lr=2e-4, weight_decay=1e-2)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=1, min_lr=1e-5)
    keeper = Keeper(patience=10)

    for epoch in range(40):
        for x, y in tr.batches(32, True):
            opt.zero_grad()
            F.cross_entropy(model(x), y).backward()
            opt.step()
        acc = accuracy(model, va)
        plateau.step(acc)
        print(f"{epoch:2d} val acc {acc:.4f} lr {opt.param_groups[0]['lr']:.2e}")
        if keeper.update(acc, epoch, model):
            break

    model.load_state_dict(keeper.state)
    print(f"best epoch {keeper.epoch} (val {keeper.best:.4f})")
    print(f"restored: val {accuracy(model, va):.4f} test {accuracy(model, te):.4f}")


if __name__ == "__main__":
    train()
