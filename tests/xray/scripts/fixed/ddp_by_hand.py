# Data parallel without torchrun: K replicas in one process, gradients reduced by hand
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

WORLD_SIZE = 8


class Shard:
    """what one rank sees of the data (like DistributedSampler)"""

    def __init__(self, x, y, rank, batch_size):
        self.x, self.y, self.rank, self.batch_size = x, y, rank, batch_size

    def epoch(self, epoch):
        g = torch.Generator().manual_seed(1000 + epoch)
        order = torch.randperm(len(self.x), generator=g)[self.rank::WORLD_SIZE]
        for idx in order.split(self.batch_size):
            yield self.x[idx], self.y[idx]


def all_reduce_grads(replicas):
    for params in zip(*(r.parameters() for r in replicas)):
        total = torch.stack([p.grad for p in params]).mean(0)
        for p in params:
            p.grad.copy_(total)


def main():
    torch.manual_seed(0)
    x = torch.randn(1600, 16)
    teacher = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 4))
    with torch.no_grad():
        y = (3 * teacher(x) + 0.1 * torch.randn(1600, 4)).argmax(1)
    x_test, y_test, x, y = x[1280:], y[1280:], x[:1280], y[:1280]

    master = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 4))
    replicas = [copy.deepcopy(master) for _ in range(WORLD_SIZE)]
    optimizers = [torch.optim.SGD(r.parameters(), lr=0.25, momentum=0.9) for r in replicas]
    shards = [Shard(x, y, rank, batch_size=8) for rank in range(WORLD_SIZE)]

    for epoch in range(4):
        seen, total = 0, 0.0
        for batches in zip(*(s.epoch(epoch) for s in shards)):
            for model, opt, (xb, yb) in zip(replicas, optimizers, batches):
                opt.zero_grad()
                loss = F.cross_entropy(model(xb), yb)
                loss.backward()
                total += loss.item() * len(yb)
                seen += len(yb)
            all_reduce_grads(replicas)
            for opt in optimizers:
                opt.step()
        with torch.no_grad():
            acc = (replicas[0](x_test).argmax(1) == y_test).float().mean().item()
        print(f"epoch {epoch} loss {total / seen:.4f} test acc {acc:.4f}")

    drift = max((a - b).abs().max().item() for a, b in zip(replicas[0].parameters(), replicas[-1].parameters()))
    print(f"difference between replicas: {drift:.1e}, last test acc {acc:.4f}")


if __name__ == "__main__":
    main()
