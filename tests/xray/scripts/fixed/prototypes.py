"""Prototype learning: class centres follow the embeddings as moving averages."""
import torch
from torch import nn
import torch.nn.functional as F


class Centres:
    def __init__(self, classes, dim, keep=0.9):
        self.mean = F.normalize(torch.randn(classes, dim), dim=1)
        self.keep = keep

    def logits(self, z, temperature=0.3):
        return z @ F.normalize(self.mean.detach(), dim=1).T / temperature

    def follow(self, z, y):
        hot = F.one_hot(y, len(self.mean)).float()
        count = hot.sum(0)
        here = (hot.T @ z.detach()) / count.clamp(min=1)[:, None]
        moved = self.keep * self.mean + (1 - self.keep) * here
        self.mean = torch.where((count > 0)[:, None], moved, self.mean)


class Embed(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, dim))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


def modes(n, seed, classes=6):
    g = torch.Generator().manual_seed(seed)
    place = torch.randn(classes * 2, 10, generator=torch.Generator().manual_seed(3)) * 1.2
    which = torch.randint(classes * 2, (n,), generator=g)
    return place[which] + 0.8 * torch.randn(n, 10, generator=g), which % classes


def depth(t):
    """longest chain of autograd nodes behind a tensor"""
    n, frontier, seen = 0, {t.grad_fn} - {None}, set()
    while frontier:
        n += 1
        seen |= frontier
        frontier = {f for node in frontier for f, _ in node.next_functions if f is not None} - seen
    return n


torch.manual_seed(19)
x, y = modes(960, 1)
vx, vy = modes(400, 2)
net, centres = Embed(), Centres(6, 8)
opt = torch.optim.Adam(net.parameters(), lr=4e-3)

for epoch in range(10):
    net.train()
    seen_loss = 0.0
    for ids in torch.randperm(len(x)).split(32):
        z = net(x[ids])
        loss = F.cross_entropy(centres.logits(z), y[ids])
        opt.zero_grad()
        loss.backward()
        opt.step()
        centres.follow(z, y[ids])
        seen_loss += loss.item() * len(ids)
    net.eval()
    with torch.no_grad():
        acc = (centres.logits(net(vx)).argmax(1) == vy).float().mean().item()
    print(f"epoch {epoch} loss {seen_loss / len(x):.4f} val acc {acc:.4f}")

behind = depth(centres.mean)
print("nodes behind the centres:", behind)
