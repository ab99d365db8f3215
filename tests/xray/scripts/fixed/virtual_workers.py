"""Synchronous data parallelism in one process: every worker owns a replica and a shard."""
import copy
import torch
from torch import nn
import torch.nn.functional as F


class Worker:
    def __init__(self, rank, net, x, y, lr):
        self.rank = rank
        self.net = copy.deepcopy(net)
        self.x, self.y = x, y
        self.opt = torch.optim.SGD(self.net.parameters(), lr=lr, momentum=0.9)
        self.rng = torch.Generator().manual_seed(1000 + rank)

    def epoch(self, size):
        order = torch.randperm(len(self.x), generator=self.rng)
        for ids in order.split(size):
            yield self.x[ids], self.y[ids]

    def backward(self, xb, yb):
        self.opt.zero_grad()
        loss = F.cross_entropy(self.net(xb), yb)
        loss.backward()
        return loss.item()

    def grads(self):
        return [p.grad for p in self.net.parameters()]


class Ring:
    """stand-in for the collective library"""

    def __init__(self, members):
        self.members = members

    def sync(self):
        total = [g.clone() for g in self.members[0].grads()]
        for m in self.members[1:]:
            torch._foreach_add_(total, m.grads())
        torch._foreach_div_(total, len(self.members))
        for m in self.members:
            torch._foreach_copy_(m.grads(), total)

    def step(self):
        for m in self.members:
            m.opt.step()


def clusters(n, seed):
    g = torch.Generator().manual_seed(seed)
    mu = torch.randn(8, 16, generator=torch.Generator().manual_seed(77)) * 0.8
    y = torch.randint(8, (n,), generator=g)
    x = mu[y] + torch.randn(n, 16, generator=g)
    return x, y


def accuracy(net, x, y):
    net.eval()
    with torch.no_grad():
        acc = (net(x).argmax(1) == y).float().mean().item()
    net.train()
    return acc


if __name__ == "__main__":
    torch.manual_seed(0)
    WORLD = 8
    x, y = clusters(1536, 1)
    vx, vy = clusters(800, 2)
    base = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 8))
    workers = [Worker(r, base, x[r::WORLD], y[r::WORLD], lr=0.1) for r in range(WORLD)]
    ring = Ring(workers)
    for epoch in range(6):
        losses = []
        for pairs in zip(*(w.epoch(16) for w in workers)):
            losses.append(sum(w.backward(*p) for w, p in zip(workers, pairs)) / WORLD)
            ring.sync()
            ring.step()
        acc = accuracy(workers[0].net, vx, vy)
        print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f} val acc {acc:.4f}")
