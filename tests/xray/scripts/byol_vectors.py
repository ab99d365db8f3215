"""BYOL-style self-supervision: stop-gradient target, EMA after the step, collapse monitor."""
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Learner(nn.Module):
    def __init__(self, d=24, h=48, out=16):
        super().__init__()
        self.online = nn.Sequential(nn.Linear(d, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, out))
        self.predictor = nn.Sequential(nn.Linear(out, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, out))
        self.target = copy.deepcopy(self.online)
        for p in self.target.parameters():
            p.requires_grad = False

    def forward(self, a, b):
        pa, pb = self.predictor(self.online(a)), self.predictor(self.online(b))
        ta, tb = self.target(a).detach(), self.target(b).detach()
        return 2 - F.cosine_similarity(pa, tb).mean() - F.cosine_similarity(pb, ta).mean()

    @torch.no_grad()
    def update_target(self, m):
        for t, o in zip(self.target.parameters(), self.online.parameters()):
            t.mul_(m).add_(o, alpha=1 - m)


def view(x):
    keep = (torch.rand_like(x) > 0.2).float()
    return x * keep + 0.2 * torch.randn_like(x)


def knn_accuracy(net, x, y, xt, yt):
    net.eval()
    with torch.no_grad():
        f, ft = F.normalize(net(x), dim=1), F.normalize(net(xt), dim=1)
        spread = f.std(0).mean().item()
        votes = y[(ft @ f.T).topk(5, dim=1).indices]
    net.train()
    return (votes.mode(1).values == yt).float().mean().item(), spread


torch.manual_seed(0)
proto = torch.randn(5, 24)
y = torch.randint(0, 5, (1300,))
x = proto[y] + 0.9 * torch.randn(1300, 24)
loader = DataLoader(TensorDataset(x[:1000]), batch_size=100, shuffle=True, drop_last=True)
learner = Learner()
optimizer = torch.optim.AdamW((p for p in learner.parameters() if p.requires_grad), lr=2e-3, weight_decay=1e-4)
EPOCHS = 10
total_steps, step = EPOCHS * len(loader), 0
learner.train()
for epoch in range(EPOCHS):
    ema_loss = None
    for (xb,) in loader:
        loss = learner(view(xb), view(xb))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        m = 1 - 0.05 * (math.cos(math.pi * step / total_steps) + 1) / 2
        learner.update_target(m)
        value = loss.detach()
        ema_loss = value if ema_loss is None else 0.9 * ema_loss + 0.1 * value
        step += 1
    acc, spread = knn_accuracy(learner.online, x[:1000], y[:1000], x[1000:], y[1000:])
    print(f"epoch {epoch} loss {ema_loss.item():.4f} knn {acc:.4f} feature std {spread:.4f} m {m:.4f}")
