"""Shape classifier with flip averaging at validation time and the best three states kept in a heap."""
import heapq
from itertools import count
import torch
from torch import nn
import torch.nn.functional as F


def shapes(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(3, (n,), generator=g)
    x = 0.5 * torch.randn(n, 1, 9, 9, generator=g)
    for i, c in enumerate(y.tolist()):
        p = int(torch.randint(1, 8, (1,), generator=g))
        if c == 0:
            x[i, 0, p] += 1
        elif c == 1:
            x[i, 0, :, p] += 1
        else:
            x[i, 0, p] += 0.7
            x[i, 0, :, p] += 0.7
    return x, y


def flips(x):
    """all four mirror images, always the same ones"""
    yield x
    yield x.flip(-1)
    yield x.flip(-2)
    yield x.flip(-1, -2)


def validate(net, x, y):
    net.eval()
    with torch.no_grad():
        p = torch.stack([net(v).log_softmax(-1) for v in flips(x)]).exp().mean(0)
    return F.nll_loss(p.log(), y).item(), (p.argmax(1) == y).float().mean().item()


class KeepBest:
    """min-heap on the negated loss: its root is the worst of the kept ones"""

    def __init__(self, k):
        self.k, self.heap, self.tie = k, [], count()

    def add(self, loss, net):
        state = {n: t.clone() for n, t in net.state_dict().items()}
        entry = (-loss, next(self.tie), state)
        (heapq.heappush if len(self.heap) < self.k else heapq.heappushpop)(self.heap, entry)

    def best(self):
        return max(self.heap)[2]


def random_flip(x):
    pick = torch.rand(len(x), 1, 1, 1) < 0.5
    return torch.where(pick, x.flip(-1), x)


torch.manual_seed(13)
x, y = shapes(500, 1)
vx, vy = shapes(250, 2)
tx, ty = shapes(250, 3)
net = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3), nn.Flatten(), nn.Linear(108, 3))
opt = torch.optim.AdamW(net.parameters(), lr=5e-3, weight_decay=0.0)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=12)
keep = KeepBest(3)
for epoch in range(12):
    net.train()
    for ids in torch.randperm(len(x)).split(25):
        loss = F.cross_entropy(net(random_flip(x[ids])), y[ids])
        opt.zero_grad()
        loss.backward()
        opt.step()
    sched.step()
    vl, va = validate(net, vx, vy)
    keep.add(vl, net)
    print(f"epoch {epoch} val {vl:.4f} acc {va:.3f}")
net.load_state_dict(keep.best())
print("test loss %.4f acc %.3f" % validate(net, tx, ty))
