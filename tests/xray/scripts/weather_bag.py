import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

# 기상 관측소: 기온 회귀 + 강수 유형 + 풍향 (보조 과제)
p = argparse.ArgumentParser()
p.add_argument("--epochs", type=int, default=10)
p.add_argument("--bs", type=int, default=50)
p.add_argument("--aux", type=float, nargs=2, default=[0.6, 0.6])
args = p.parse_args([])

g = torch.Generator().manual_seed(5)
torch.manual_seed(5)


def stations(n):
    x = torch.randn(n, 16, generator=g)
    temp = (x[:, :3] * torch.tensor([1.0, -2.0, 0.5])).sum(1) + 0.1 * torch.randn(n, generator=g)
    rain = torch.stack([x[:, 3] + x[:, 4], x[:, 5] - x[:, 3], x[:, 6] * 1.5], 1).argmax(1)
    wind = (x[:, 7] > 0).long() * 2 + (x[:, 8] > 0).long()
    return x, temp, rain, wind


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.temp = nn.Linear(64, 1)
        self.rain = nn.Linear(64, 3)
        self.wind = nn.Linear(64, 4)

    def forward(self, x):
        h = self.trunk(x)
        return self.temp(h).squeeze(1), self.rain(h), self.wind(h)


class Bag:
    """Collects auxiliary terms and hands out their weighted sum."""

    def __init__(self, weights):
        self.w = torch.tensor(weights)
        self.items = []
        self.seen = {}

    def put(self, name, term):
        self.items.append(term)
        self.seen[name] = term.item()
        return self

    def pour(self):
        v = torch.tensor([t.item() for t in self.items], requires_grad=True)
        self.items = []
        return torch.dot(self.w, v)


train, held = stations(1500), stations(600)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
bag = Bag(args.aux)

for ep in range(args.epochs):
    net.train()
    order = torch.randperm(1500, generator=g)
    total = 0.0
    for idx in order.split(args.bs):
        x, t, r, w = (c[idx] for c in train)
        pt, pr, pw = net(x)
        bag.put("rain", F.cross_entropy(pr, r)).put("wind", F.cross_entropy(pw, w))
        loss = F.smooth_l1_loss(pt, t) + bag.pour()
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    print("ep", ep, "loss %.4f" % (total / 1500))

net.eval()
with torch.no_grad():
    pt, pr, pw = net(held[0])
    print("temp mae %.3f" % (pt - held[1]).abs().mean().item(),
          "rain acc %.3f" % (pr.argmax(1) == held[2]).float().mean().item(),
          "wind acc %.3f" % (pw.argmax(1) == held[3]).float().mean().item())
