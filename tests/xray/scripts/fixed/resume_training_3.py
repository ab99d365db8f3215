"""
Long job on a preemptible machine: run `train(...)`, be interrupted, resume from last.pt.
The interruption is simulated here by the two calls at the bottom.
"""
import os
import tempfile
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

workdir = tempfile.mkdtemp()
CKPT = os.path.join(workdir, "last.pt")
hp = {"lr": 0.1, "momentum": 0.9, "epochs": 4, "milestones": [2, 3], "bs": 64}


def data(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 1, 8, 8, generator=g)
    y = (x[:, 0, :4].sum((1, 2)) > x[:, 0, 4:].sum((1, 2))).long()
    return TensorDataset(x, y)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())
        self.fc = nn.Linear(16 * 16, 2)

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


def evaluate(net, loader, loss_fn):
    net.eval()
    loss = right = 0.0
    with torch.no_grad():
        for x, y in loader:
            o = net(x)
            loss += loss_fn(o, y).item() * len(y)
            right += (o.argmax(1) == y).sum().item()
    return loss / len(loader.dataset), right / len(loader.dataset)


def train(resume=False, stop_after=None):
    torch.manual_seed(100 if resume else 10)
    train_loader = DataLoader(data(512, 0), batch_size=hp["bs"], shuffle=True)
    val_loader = DataLoader(data(256, 1), batch_size=128)
    net = Net()
    loss_fn = nn.CrossEntropyLoss()
    optimizer = optim.SGD(net.parameters(), lr=hp["lr"], momentum=hp["momentum"])
    scheduler = optim.lr_scheduler.MultiStepLR(optimizer, milestones=hp["milestones"], gamma=0.1)
    start = 0
    if resume:
        ckpt = torch.load(CKPT)
        net.load_state_dict(ckpt["model"])
        optimizer.load_state_dict(ckpt["optimizer"])
        scheduler.load_state_dict(ckpt["scheduler"])
        start = ckpt["epoch"] + 1
        print("resumed at epoch", start)
    for epoch in range(start, hp["epochs"]):
        lr = optimizer.param_groups[0]["lr"]
        net.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = loss_fn(net(x), y)
            loss.backward()
            optimizer.step()
        scheduler.step()
        val_loss, val_acc = evaluate(net, val_loader, loss_fn)
        print(f"epoch {epoch} lr {lr:g} val loss {val_loss:.4f} acc {val_acc:.4f}")
        torch.save({
            "epoch": epoch,
            "model": net.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
        }, CKPT)
        if stop_after is not None and epoch == stop_after:
            return


train(stop_after=1)
train(resume=True)
