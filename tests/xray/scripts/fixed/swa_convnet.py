"""Stochastic weight averaging of a small BatchNorm CNN on synthetic textures."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.swa_utils import SWALR, update_bn
from torch.utils.data import DataLoader, TensorDataset


def textures(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    t = torch.arange(12).float()
    freq = (0.6 + 0.35 * y.float()).view(n, 1, 1)
    phase = torch.rand(n, 1, 1, generator=g) * 6.28
    img = torch.sin(freq * (t.view(1, 12, 1) + t.view(1, 1, 12)) + phase)
    img = img + 0.7 * torch.randn(n, 12, 12, generator=g)
    return img.unsqueeze(1), y


def conv_block(c_in, c_out):
    return nn.Sequential(nn.Conv2d(c_in, c_out, 3, padding=1, bias=False),
                         nn.BatchNorm2d(c_out), nn.ReLU(inplace=True))


class SmallCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(conv_block(1, 8), nn.MaxPool2d(2), conv_block(8, 16))
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        return self.head(self.body(x).mean(dim=(2, 3)))


def evaluate(net, loader):
    net.eval()
    n = hit = 0
    loss = 0.0
    with torch.no_grad():
        for x, y in loader:
            out = net(x)
            loss += F.cross_entropy(out, y, reduction="sum").item()
            hit += (out.argmax(1) == y).sum().item()
            n += len(y)
    return loss / n, hit / n


class WeightAverage:
    """Running mean of a model's weights."""

    def __init__(self, model):
        self.module = copy.deepcopy(model)
        self.n = 0

    @torch.no_grad()
    def update(self, model):
        self.n += 1
        for avg, p in zip(self.module.parameters(), model.parameters()):
            avg += (p - avg) / self.n


class SWATrainer:
    def __init__(self, model, loader, epochs=10, swa_start=5, lr=0.05, swa_lr=0.02):
        self.model = model
        self.loader = loader
        self.epochs = epochs
        self.swa_start = swa_start
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=1e-4)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=epochs)
        self.swa_scheduler = SWALR(self.optimizer, swa_lr=swa_lr, anneal_epochs=2)
        self.average = WeightAverage(model)

    def train_epoch(self):
        self.model.train()
        for x, y in self.loader:
            self.optimizer.zero_grad()
            F.cross_entropy(self.model(x), y).backward()
            self.optimizer.step()

    def fit(self, val_loader):
        for epoch in range(self.epochs):
            self.train_epoch()
            if epoch >= self.swa_start:
                self.average.update(self.model)
                self.swa_scheduler.step()
            else:
                self.scheduler.step()
            loss, acc = evaluate(self.model, val_loader)
            print(f"epoch {epoch} val loss {loss:.4f} acc {acc:.4f}")
        return self.average.module


def main():
    torch.manual_seed(8)
    train = DataLoader(TensorDataset(*textures(600, 1)), batch_size=60, shuffle=True)
    val = DataLoader(TensorDataset(*textures(400, 2)), batch_size=100)
    trainer = SWATrainer(SmallCNN(), train)
    swa_model = trainer.fit(val)
    update_bn(train, swa_model)
    loss, acc = evaluate(swa_model, val)
    print(f"SWA   val loss {loss:.4f} acc {acc:.4f}")


if __name__ == "__main__":
    main()
