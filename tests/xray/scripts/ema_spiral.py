"""Spiral classification with an exponential moving average of the weights."""
import copy
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(30)


def spiral(n):
    y = torch.randint(0, 3, (n,))
    r = torch.rand(n)
    a = 4 * r + 2.094 * y + 0.35 * torch.randn(n)
    return TensorDataset(torch.stack([r * torch.cos(a), r * torch.sin(a)], 1) * 2, y)


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.model = copy.deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    def update(self, source):
        for e, p in zip(self.model.parameters(), source.parameters()):
            e.lerp_(p, 1 - self.decay)


def check(net, loader):
    net.eval()
    good = 0
    with torch.no_grad():
        for x, y in loader:
            good += (net(x).argmax(1) == y).sum().item()
    return good / len(loader.dataset)


train_dl = DataLoader(spiral(600), batch_size=30, shuffle=True)
valid_dl = DataLoader(spiral(300), batch_size=100)
model = nn.Sequential(
    nn.Linear(2, 64), nn.ReLU(), nn.Dropout(0.3),
    nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.3),
    nn.Linear(64, 3),
)
ema = EMA(model, decay=0.9)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
ce = nn.CrossEntropyLoss()

model.train()
for epoch in range(12):
    tot = 0.0
    for x, y in train_dl:
        opt.zero_grad()
        loss = ce(model(x), y)
        loss.backward()
        ema.update(model)
        opt.step()
        tot += loss.item() * len(y)
    print(f"{epoch:2d} loss {tot / 600:.4f} raw {check(model, valid_dl):.3f} ema {check(ema.model, valid_dl):.3f}")
