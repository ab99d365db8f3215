"""A Trainer class with gradient accumulation and callbacks."""
import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Callback:
    def on_epoch_end(self, trainer, logs):
        pass


class Printer(Callback):
    def on_epoch_end(self, trainer, logs):
        print("  ".join(f"{k} {v:.4f}" if isinstance(v, float) else f"{k} {v}" for k, v in logs.items()))


class History(Callback):
    def __init__(self):
        self.rows = []

    def on_epoch_end(self, trainer, logs):
        self.rows.append(dict(logs))


class Trainer:
    def __init__(self, model, optimizer, criterion, accum=4, callbacks=()):
        self.model = model
        self.optimizer = optimizer
        self.criterion = criterion
        self.accum = accum
        self.callbacks = list(callbacks)
        self.updates = 0

    def train_epoch(self, loader):
        total = 0.0
        for i, (x, y) in enumerate(loader):
            if i % self.accum == 0:
                self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y) / self.accum
            loss.backward()
            if (i + 1) % self.accum == 0:
                self.optimizer.step()
                self.updates += 1
            total += loss.item() * self.accum
        return total / len(loader)

    def evaluate(self, loader):
        self.model.eval()
        hits = count = 0
        loss = 0.0
        with torch.no_grad():
            for x, y in loader:
                out = self.model(x)
                loss += self.criterion(out, y).item() * len(y)
                hits += (out.argmax(1) == y).sum().item()
                count += len(y)
        return loss / count, hits / count

    def fit(self, train_loader, val_loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            train_loss = self.train_epoch(train_loader)
            val_loss, val_acc = self.evaluate(val_loader)
            logs = {"epoch": epoch, "train_loss": train_loss, "val_loss": val_loss, "val_acc": val_acc}
            for cb in self.callbacks:
                cb.on_epoch_end(self, logs)


def make_data(n, w, noise):
    x = torch.randn(n, 30)
    y = (x @ w + noise * torch.randn(n, 5)).argmax(1)
    return TensorDataset(x, y)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=25)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--lr", type=float, default=0.02)
    args = ap.parse_args()

    torch.manual_seed(17)
    w = torch.randn(30, 5)
    train = DataLoader(make_data(640, w, 1.5), batch_size=16, shuffle=True, drop_last=True)
    val = DataLoader(make_data(2000, w, 1.5), batch_size=200)
    model = nn.Sequential(nn.Linear(30, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 5))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    history = History()
    trainer = Trainer(model, optimizer, nn.CrossEntropyLoss(), args.accum, [Printer(), history])
    trainer.fit(train, val, args.epochs)
    last = history.rows[-1]
    print(f"final val loss {last['val_loss']:.4f} val acc {last['val_acc']:.4f}")


if __name__ == "__main__":
    main()
