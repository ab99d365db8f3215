"""Training that survives preemption: run(stop_after=...) leaves a checkpoint, run() picks it up."""
import os
import tempfile

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

CKPT = os.path.join(tempfile.mkdtemp(), "last.pt")
EPOCHS, LR = 10, 0.05


def get_loaders():
    g = torch.Generator().manual_seed(0)
    x = torch.rand(1000, 6, generator=g) * 2 - 1
    y = torch.sin(3 * x[:, 0]) * x[:, 1] + x[:, 2] ** 2 - 0.5 * x[:, 3] + 0.05 * torch.randn(1000, generator=g)
    train = TensorDataset(x[:800], y[:800, None])
    val = TensorDataset(x[800:], y[800:, None])
    return DataLoader(train, batch_size=40, shuffle=True), DataLoader(val, batch_size=100)


def build_model():
    return nn.Sequential(nn.Linear(6, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))


@torch.no_grad()
def validate(model, loader):
    model.eval()
    se = sum(((model(x) - y) ** 2).sum().item() for x, y in loader)
    return se / len(loader.dataset)


def save(epoch, model, optimizer, scheduler):
    torch.save({
        "epoch": epoch + 1,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
    }, CKPT)


def run(stop_after=None):
    train_loader, val_loader = get_loaders()
    model = build_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=LR)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda e: 0.6 ** e)
    start = 0
    if os.path.exists(CKPT):
        ckpt = torch.load(CKPT)
        model.load_state_dict(ckpt["model"])
        optimizer.load_state_dict(ckpt["optimizer"])
        scheduler.load_state_dict(ckpt["scheduler"])
        start = ckpt["epoch"]
        print(f"resumed at epoch {start}")
    for epoch in range(start, EPOCHS):
        model.train()
        total = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        used = optimizer.param_groups[0]["lr"]
        scheduler.step()
        save(epoch, model, optimizer, scheduler)
        print(f"epoch {epoch} lr {used:.5f} train {total / len(train_loader):.5f} val {validate(model, val_loader):.5f}")
        if stop_after is not None and epoch + 1 >= stop_after:
            return


if __name__ == "__main__":
    torch.manual_seed(0)
    run(stop_after=6)  # the job is preempted here
    run()
