"""Transformer encoder classifier with linear warmup and inverse-sqrt decay."""
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    vocab: int = 20
    length: int = 12
    dim: int = 32
    heads: int = 4
    layers: int = 3
    epochs: int = 7
    batch_size: int = 32
    peak_lr: float = 1e-2
    warmup: int = 100
    clip: float = 0.5
    seed: int = 0


class Encoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.tok = nn.Embedding(cfg.vocab, cfg.dim)
        self.pos = nn.Parameter(0.02 * torch.randn(cfg.length, cfg.dim))
        layer = nn.TransformerEncoderLayer(cfg.dim, cfg.heads, 4 * cfg.dim, dropout=0.0,
                                           batch_first=True)
        self.body = nn.TransformerEncoder(layer, cfg.layers, enable_nested_tensor=False)
        self.head = nn.Linear(cfg.dim, 2)

    def forward(self, x):
        h = self.body(self.tok(x) + self.pos)
        return self.head(h.mean(dim=1))


def make_data(cfg, n):
    x = torch.randint(0, cfg.vocab, (n, cfg.length))
    small = (x < cfg.vocab // 2).sum(dim=1)
    y = (small > cfg.length // 2).long()
    return TensorDataset(x, y)


def lr_at(step, cfg):
    step = max(step, 1)
    return cfg.peak_lr * min(step / cfg.warmup, (cfg.warmup / step) ** 0.5)


def run(cfg):
    torch.manual_seed(cfg.seed)
    train = DataLoader(make_data(cfg, 1600), batch_size=cfg.batch_size, shuffle=True)
    test = DataLoader(make_data(cfg, 600), batch_size=200)
    model = Encoder(cfg)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.peak_lr, betas=(0.9, 0.98))

    step = 0
    for epoch in range(cfg.epochs):
        model.train()
        total = 0.0
        for x, y in train:
            step += 1
            optimizer.lr = lr_at(step, cfg)
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            nn.utils.clip_grad_norm_(model.parameters(), cfg.clip)
            total += loss.item() * len(y)

        model.eval()
        hits = 0
        with torch.no_grad():
            for x, y in test:
                hits += (model(x).argmax(dim=1) == y).sum().item()
        print(f"epoch {epoch} loss {total / len(train.dataset):.4f} "
              f"test acc {hits / len(test.dataset):.4f}")
    return hits / len(test.dataset)


if __name__ == "__main__":
    run(Config())
