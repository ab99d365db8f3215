"""Data-parallel training simulated in one process: 4 replicas, averaged gradients."""
import copy
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

WORLD = 4
torch.manual_seed(13)


def two_moons(n):
    y = torch.randint(0, 2, (n,))
    t = 3.1416 * torch.rand(n)
    x = torch.stack([torch.cos(t), torch.sin(t)], 1)
    x[y == 1] = torch.stack([1 - torch.cos(t), 0.5 - torch.sin(t)], 1)[y == 1]
    x = x + 0.3 * torch.randn(n, 2)
    return TensorDataset(torch.cat([x, torch.randn(n, 14)], 1), y)  # 14 features carry nothing


def all_reduce(replicas):
    """Gives every replica the same gradient."""
    for params in zip(*(r.parameters() for r in replicas)):
        total = torch.stack([p.grad for p in params]).mean(0)
        for p in params:
            p.grad.copy_(total)


train_set, val_set = random_split(two_moons(640), [320, 320])
shards = random_split(train_set, [80] * WORLD)
train_loaders = [DataLoader(s, batch_size=16, shuffle=True) for s in shards]
val_loader = DataLoader(val_set, batch_size=64)

base = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
replicas = [copy.deepcopy(base) for _ in range(WORLD)]
opts = [torch.optim.SGD(r.parameters(), lr=0.06, momentum=0.9) for r in replicas]

for epoch in range(30):
    running, seen = 0.0, 0
    for batches in zip(*train_loaders):
        for r, o, (x, y) in zip(replicas, opts, batches):
            r.train()
            o.zero_grad()
            loss = F.cross_entropy(r(x), y)
            loss.backward()
            running += loss.item() * len(y)
            seen += len(y)
        all_reduce(replicas)
        for o in opts:
            o.step()

    if epoch % 5 == 4:
        net = replicas[0]
        net.eval()
        hits = count = 0
        with torch.no_grad():
            for x, y in val_loader:
                hits += (net(x).argmax(1) == y).sum().item()
                count += len(y)
        print(f"epoch {epoch + 1} train loss {running / seen:.4f} val acc {hits / count:.4f}")
