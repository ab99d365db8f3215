import os
import tempfile

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, TensorDataset

TOTAL = 8


def data():
    g = torch.Generator().manual_seed(1)
    x = torch.randn(480, 10, generator=g)
    return TensorDataset(x, torch.stack([x[:, 0] * x[:, 1], x[:, 2].abs()], 1))


def save(path, epoch, model, optimizer, scheduler):
    torch.save({
        "epoch": epoch, "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
    }, path)


def run(path, stop_at):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scheduler = CosineAnnealingLR(optimizer, T_max=TOTAL)
    start = 0
    if os.path.exists(path):
        ckpt = torch.load(path, weights_only=True)
        model.load_state_dict(ckpt["model"])
        start = ckpt["epoch"] + 1
        print("resumed at epoch", start)
    loader = DataLoader(data(), batch_size=48, shuffle=True)
    loss_fn = nn.MSELoss()
    for epoch in range(start, stop_at):
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        scheduler.step()
        print(f"epoch {epoch} loss {total / len(loader):.4f} lr {optimizer.param_groups[0]['lr']:.5f}")
        save(path, epoch, model, optimizer, scheduler)


with tempfile.TemporaryDirectory() as folder:
    where = os.path.join(folder, "last.pt")
    run(where, 3)
    run(where, TOTAL)
