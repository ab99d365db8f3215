"""Segmentation of bright cells with a small encoder-decoder; outputs are a dict."""
import math
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

hp = SimpleNamespace(size=20, n=320, n_test=80, bs=16, epochs=6, lr=0.2, pos=3.0)


def slides(n, g):
    yy, xx = torch.meshgrid(torch.arange(hp.size), torch.arange(hp.size), indexing="ij")
    img = 0.6 * torch.randn(n, 1, hp.size, hp.size, generator=g)
    msk = torch.zeros(n, 1, hp.size, hp.size)
    for i in range(n):
        for _ in range(int(torch.randint(1, 4, (1,), generator=g))):
            cy, cx = (torch.rand(2, generator=g) * hp.size).tolist()
            r = 1.5 + 2 * torch.rand(1, generator=g).item()
            disc = ((yy - cy) ** 2 + (xx - cx) ** 2 <= r * r).float()
            msk[i, 0] = torch.maximum(msk[i, 0], disc)
    return img + 0.9 * msk, msk


class Seg(nn.Module):
    def __init__(self, c=10):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.mid = nn.Sequential(nn.Conv2d(c, 2 * c, 3, padding=1), nn.ReLU())
        self.up = nn.Conv2d(2 * c + 1, c, 3, padding=1)
        self.fin = nn.Conv2d(c, 1, 1)
        nn.init.constant_(self.fin.bias, -1.0)

    def forward(self, x):
        h = F.interpolate(self.mid(self.down(x)), scale_factor=2.0)
        z = self.fin(torch.relu(self.up(torch.cat([h, x], 1))))
        return {"map": z, "mask": torch.sigmoid(z)}


def pixel_cost(z, y):
    """Stable binary cross entropy, rare pixels weigh more."""
    return (hp.pos * y * F.softplus(-z) + (1 - y) * F.softplus(z)).mean()


def iou(out, y):
    p = out["mask"] > 0.5
    t = y > 0.5
    return (p & t).sum().item(), (p | t).sum().item()


torch.manual_seed(45)
g = torch.Generator().manual_seed(45)
X, Y = slides(hp.n, g)
XT, YT = slides(hp.n_test, g)
net = Seg()
opt = torch.optim.SGD(net.parameters(), lr=hp.lr, momentum=0.9)
for ep in range(hp.epochs):
    net.train()
    tot = 0.0
    for ix in torch.randperm(hp.n, generator=g).split(hp.bs):
        out = net(X[ix])
        loss = pixel_cost(out["map"], Y[ix])
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(ix)
    net.eval()
    with torch.no_grad():
        a, b = iou(net(XT), YT)
    print(f"epoch {ep} cost {tot / hp.n:.4f} test IoU {a / b:.4f}")
