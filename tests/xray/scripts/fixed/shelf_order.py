from typing import Iterator, Tuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def load_shelves(per_class: int, rng: np.random.Generator, protos: np.ndarray):
    """Reads one product class after the other, like the folders on disk."""
    xs, ys = [], []
    for k, p in enumerate(protos):
        xs.append(p + rng.normal(0, 1.6, size=(per_class, p.shape[0])))
        ys.append(np.full(per_class, k))
    return torch.tensor(np.concatenate(xs), dtype=torch.float32), torch.tensor(np.concatenate(ys))


class Batches:
    """Small loader over tensors; keeps its own order."""

    def __init__(self, x, y, size: int, shuffle: bool, seed: int = 0):
        self.x, self.y, self.size, self.shuffle = x, y, size, shuffle
        self.gen = torch.Generator().manual_seed(seed)
        self.order = torch.arange(len(y))

    def reset(self) -> "Batches":
        if self.shuffle:
            self.order = torch.randperm(len(self.y), generator=self.gen)
        return self

    def __len__(self):
        return -(-len(self.y) // self.size)

    def __iter__(self) -> Iterator[Tuple[torch.Tensor, torch.Tensor]]:
        for i in range(len(self)):
            ix = self.order[i * self.size:(i + 1) * self.size]
            yield self.x[ix], self.y[ix]


class Fit:
    def __init__(self, net: nn.Module, lr: float):
        self.net = net
        self.opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)

    def epoch(self, data: Batches) -> float:
        self.net.train()
        s = n = 0
        for x, y in data.reset():
            self.opt.zero_grad()
            loss = F.cross_entropy(self.net(x), y)
            loss.backward()
            self.opt.step()
            s, n = s + loss.item() * len(y), n + len(y)
        return s / n

    @torch.no_grad()
    def score(self, data: Batches) -> float:
        self.net.eval()
        hit = sum((self.net(x).argmax(1) == y).sum().item() for x, y in data)
        return hit / len(data.y)


def main():
    torch.manual_seed(1)
    rng = np.random.default_rng(1)
    protos = rng.normal(0, 1.0, size=(8, 24))
    train = Batches(*load_shelves(250, rng, protos), size=50, shuffle=True)
    test = Batches(*load_shelves(80, rng, protos), size=160, shuffle=False)
    fit = Fit(nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 8)), lr=0.03)
    for e in range(8):
        loss = fit.epoch(train)
        print(f"[{e}] loss {loss:.4f} | test {fit.score(test):.4f}")


main()
