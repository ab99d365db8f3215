"""Sensor fault classifier, small Trainer with gradient accumulation."""
from dataclasses import dataclass
import torch
from torch import nn


@dataclass
class Config:
    micro_size: int = 16
    accum: int = 4
    epochs: int = 6
    lr: float = 0.05
    seed: int = 5


class Buffer:
    """Keeps the whole training set in memory and hands out micro-batches."""

    def __init__(self, x, y, size):
        self.x, self.y, self.size = x, y, size

    def shuffle(self):
        self.x = self.x[torch.randperm(len(self.x))]
        self.y = self.y[torch.randperm(len(self.y))]

    def __iter__(self):
        self.shuffle()
        for k in range(0, len(self.x), self.size):
            yield self.x[k:k + self.size], self.y[k:k + self.size]


class Trainer:
    def __init__(self, model, cfg):
        self.model, self.cfg = model, cfg
        self.opt = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=0.9)
        self.loss_fn = nn.CrossEntropyLoss()
        self.pending = 0
        self.updates = 0

    def micro_step(self, x, y):
        loss = self.loss_fn(self.model(x), y)
        (loss / self.cfg.accum).backward()
        self.pending += 1
        if self.pending > self.cfg.accum:
            self.opt.step()
            self.opt.zero_grad()
            self.pending = 0
            self.updates += 1
        return loss.item() * len(x)

    def fit(self, data, xv, yv):
        for epoch in range(self.cfg.epochs):
            self.model.train()
            total = sum(self.micro_step(x, y) for x, y in data)
            print(f"[{epoch}] loss {total / len(data.x):.4f} val acc {self.score(xv, yv):.4f} updates {self.updates}")

    @torch.no_grad()
    def score(self, x, y):
        self.model.eval()
        return (self.model(x).argmax(1) == y).float().mean().item()


def synth(n, centers):
    y = torch.randint(0, len(centers), (n,))
    return centers[y] + 1.5 * torch.randn(n, centers.shape[1]), y


if __name__ == "__main__":
    cfg = Config()
    torch.manual_seed(cfg.seed)
    centers = torch.randn(5, 20)
    xt, yt = synth(1280, centers)
    xv, yv = synth(400, centers)
    net = nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, 5))
    Trainer(net, cfg).fit(Buffer(xt, yt, cfg.micro_size), xv, yv)
