from dataclasses import dataclass, field

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class TrainConfig:
    epochs: int = 8
    batch_size: int = 25
    lr: float = 0.15
    weight_decay: float = 1e-4
    widths: list = field(default_factory=lambda: [12, 96, 96, 4])
    seed: int = 0


class Trainer:
    """fit / validate / restore, 실험마다 복사해서 쓰는 클래스"""

    def __init__(self, cfg, train_set, val_set):
        torch.manual_seed(cfg.seed)
        self.cfg = cfg
        layers = []
        for a, b in zip(cfg.widths[:-1], cfg.widths[1:]):
            layers += [nn.Linear(a, b), nn.ReLU()]
        self.model = nn.Sequential(*layers[:-1])
        self.train_loader = DataLoader(train_set, batch_size=cfg.batch_size, shuffle=True)
        self.val_loader = DataLoader(val_set, batch_size=200)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=cfg.lr, momentum=0.9,
                                         weight_decay=cfg.weight_decay)
        self.scheduler = CosineAnnealingLR(self.optimizer, T_max=cfg.epochs)
        self.criterion = nn.CrossEntropyLoss()
        self.best = {"acc": 0.0, "epoch": None, "weights": None}

    def fit(self):
        for epoch in range(self.cfg.epochs):
            loss = self._train_epoch()
            self.scheduler.step()
            acc = self.validate()
            if acc > self.best["acc"]:
                self.best.update(acc=acc, epoch=epoch, weights={k: v.clone() for k, v in self.model.state_dict().items()})
            print(f"epoch {epoch} loss {loss:.4f} val acc {acc:.4f} lr {self.scheduler.get_last_lr()[0]:.4f}")

    def _train_epoch(self):
        self.model.train()
        total = 0.0
        for x, y in self.train_loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(y)
        return total / len(self.train_loader.dataset)

    def validate(self):
        self.model.eval()
        with torch.no_grad():
            hits = sum((self.model(x).argmax(1) == y).sum().item() for x, y in self.val_loader)
        return hits / len(self.val_loader.dataset)

    def restore(self):
        self.model.load_state_dict(self.best["weights"])
        return self.validate()


def make_data(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 12, generator=g)
    y = 2 * (x[:, 0] * x[:, 1] > 0).long() + (x[:, 2] + 0.5 * x[:, 3] ** 2 > 0.5).long()
    flip = torch.rand(n, generator=g) < (0.1 if seed == 0 else 0.0)
    y[flip] = torch.randint(0, 4, (int(flip.sum()),), generator=g)
    return TensorDataset(x, y)


if __name__ == "__main__":
    trainer = Trainer(TrainConfig(), make_data(700, 0), make_data(400, 1))
    trainer.fit()
    print(f"best {trainer.best['acc']:.4f} (epoch {trainer.best['epoch']}), restored {trainer.restore():.4f}")
