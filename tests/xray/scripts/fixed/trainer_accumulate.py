import argparse
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    epochs: int = 4
    batch_size: int = 16
    accum_steps: int = 4
    lr: float = 0.05
    max_norm: float = 1.0
    seed: int = 7


class MLP(nn.Module):
    def __init__(self, d_in=20, d_h=64, n_cls=5):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(d_in, d_h), nn.LayerNorm(d_h), nn.GELU(), nn.Linear(d_h, n_cls)
        )

    def forward(self, x):
        return self.net(x)


def make_data(n, gen):
    centers = torch.randn(5, 20, generator=torch.Generator().manual_seed(99))
    y = torch.randint(0, 5, (n,), generator=gen)
    x = centers[y] + 1.5 * torch.randn(n, 20, generator=gen)
    return TensorDataset(x, y)


class Trainer:
    def __init__(self, model, cfg, train_set, val_set):
        self.model = model
        self.cfg = cfg
        self.train_loader = DataLoader(train_set, batch_size=cfg.batch_size, shuffle=True)
        self.val_loader = DataLoader(val_set, batch_size=64)
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=0.9)
        self.global_step = 0

    def train_epoch(self):
        self.model.train()
        total, count = 0.0, 0
        self.optimizer.zero_grad()
        for i, (x, y) in enumerate(self.train_loader):
            loss = self.criterion(self.model(x), y)
            total += loss.item() * x.size(0)
            count += x.size(0)
            is_boundary = (i + 1) % self.cfg.accum_steps == 0
            (loss / self.cfg.accum_steps).backward()
            if is_boundary:
                nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.max_norm)
                self.optimizer.step()
                self.optimizer.zero_grad()
                self.global_step += 1
        return total / count

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        total, hits, count = 0.0, 0, 0
        for x, y in self.val_loader:
            logits = self.model(x)
            total += self.criterion(logits, y).item() * x.size(0)
            hits += (logits.argmax(-1) == y).sum().item()
            count += x.size(0)
        return total / count, hits / count

    def fit(self):
        for epoch in range(self.cfg.epochs):
            tr = self.train_epoch()
            va, acc = self.evaluate()
            print(f"[{epoch}] step={self.global_step} train={tr:.5f} val={va:.5f} acc={acc:.4f}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--accum_steps", type=int, default=4)
    a = p.parse_args()
    cfg = Config(epochs=a.epochs, accum_steps=a.accum_steps)
    torch.manual_seed(cfg.seed)
    g = torch.Generator().manual_seed(cfg.seed)
    trainer = Trainer(MLP(), cfg, make_data(640, g), make_data(256, g))
    trainer.fit()
