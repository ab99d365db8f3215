"""Four logical workers with unequal shards; every worker takes the SUM of its losses over the
global count, so that the gradients are added up, and what is left at the end of an epoch is stepped too."""
import torch
from torch import nn
import torch.nn.functional as F


class Shard:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def grads(self, params, forward, ids, total):
        out = forward(self.x[ids])
        loss = F.cross_entropy(out, self.y[ids], reduction="sum") / total
        return torch.autograd.grad(loss, params), loss.item()


class Cluster:
    def __init__(self, net, shards, opt, micro, wait):
        self.net, self.shards, self.opt = net, shards, opt
        self.params = list(net.parameters())
        self.micro, self.wait = micro, wait

    def rounds(self):
        """per round: a list of (shard, ids); shards run dry at different times"""
        queues = [list(torch.randperm(len(s.x)).split(self.micro)) for s in self.shards]
        while any(queues):
            yield [(s, q.pop()) for s, q in zip(self.shards, queues) if q]

    def update(self, work):
        total = sum(len(ids) for _, ids in work)
        acc, loss = None, 0.0
        for shard, ids in work:
            g, part = shard.grads(self.params, self.net, ids, total)
            if acc is None:
                acc = [t.clone() for t in g]
            else:
                torch._foreach_add_(acc, g)
            loss += part
        for p, g in zip(self.params, acc):
            p.grad = g
        self.opt.step()
        return loss, total

    def epoch(self):
        self.net.train()
        work, seen, total = [], 0, 0.0
        for i, rnd in enumerate(self.rounds(), 1):
            work += rnd
            if i % self.wait == 0:
                loss, n = self.update(work)
                total, seen, work = total + loss * n, seen + n, []
        if work:
            loss, n = self.update(work)
            total, seen = total + loss * n, seen + n
        return total / seen, seen


def points(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(4, (n,), generator=g)
    mu = torch.tensor([[1.0, 1], [-1, 1], [1, -1], [-1, -1]])
    return torch.cat([mu[y] + 0.5 * torch.randn(n, 2, generator=g), torch.randn(n, 4, generator=g)], 1), y


if __name__ == "__main__":
    torch.manual_seed(30)
    x, y = points(900, 1)
    vx, vy = points(400, 2)
    shards = [Shard(x[a:b], y[a:b]) for a, b in [(0, 300), (300, 520), (520, 760), (760, 900)]]
    net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4))
    opt = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9, nesterov=True)
    cluster = Cluster(net, shards, opt, micro=10, wait=2)
    for e in range(8):
        loss, seen = cluster.epoch()
        net.eval()
        with torch.no_grad():
            acc = (net(vx).argmax(1) == vy).float().mean().item()
        print(f"epoch {e} loss {loss:.4f} over {seen} samples, val acc {acc:.4f}")
