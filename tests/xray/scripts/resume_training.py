"""Train in two jobs: the first one stops half-way, the second one continues from the checkpoint."""
import os
import tempfile
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    lr: float = 0.02
    total_epochs: int = 12
    batch_size: int = 40
    seed: int = 0
    ckpt: str = ""


def get_data():
    g = torch.Generator().manual_seed(77)
    x = torch.randn(1000, 24, generator=g) * torch.logspace(-2, 0.5, 24)
    y = (x[:, ::2].div(torch.logspace(-2, 0.5, 24)[::2]).sum(1) > 0).long()
    return TensorDataset(x[:800], y[:800]), TensorDataset(x[800:], y[800:])


def build(cfg):
    model = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr, betas=(0.9, 0.999))
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=cfg.total_epochs)
    return model, optimizer, scheduler


def train_epochs(model, optimizer, scheduler, loader, first, last):
    criterion = nn.CrossEntropyLoss()
    for epoch in range(first, last):
        model.train()
        running = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            running += loss.item() * len(y)
        print(f"epoch {epoch} lr {scheduler.get_last_lr()[0]:.5f} loss {running / len(loader.dataset):.4f}")
        scheduler.step()


def first_job(cfg, loader):
    torch.manual_seed(cfg.seed)
    model, optimizer, scheduler = build(cfg)
    train_epochs(model, optimizer, scheduler, loader, 0, cfg.total_epochs // 2)
    torch.save({"model": model.state_dict(), "epoch": cfg.total_epochs // 2}, cfg.ckpt)


def second_job(cfg, loader):
    model, optimizer, scheduler = build(cfg)
    state = torch.load(cfg.ckpt)
    model.load_state_dict(state["model"])
    train_epochs(model, optimizer, scheduler, loader, state["epoch"], cfg.total_epochs)
    return model


def main():
    cfg = Config(ckpt=os.path.join(tempfile.mkdtemp(), "last.pt"))
    train_set, test_set = get_data()
    loader = DataLoader(train_set, batch_size=cfg.batch_size, shuffle=True)
    first_job(cfg, loader)
    model = second_job(cfg, loader)
    model.eval()
    with torch.no_grad():
        x, y = test_set.tensors
        out = model(x)
        print(f"test loss {nn.functional.cross_entropy(out, y).item():.4f} "
              f"acc {(out.argmax(1) == y).float().mean().item():.4f}")


if __name__ == "__main__":
    main()
