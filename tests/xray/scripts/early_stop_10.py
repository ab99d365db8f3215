"""Small-data classifier with label noise and early stopping."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(42)


class EarlyStop:
    def __init__(self, patience):
        self.patience = patience
        self.best = float("inf")
        self.bad = 0
        self.state = None

    def update(self, value, net):
        if value < self.best:
            self.best = value
            self.bad = 0
            self.state = net.state_dict()
        else:
            self.bad += 1
        return self.bad >= self.patience


def toy(n, flip):
    x = torch.randn(n, 30)
    y = (x[:, :5].sum(1) + x[:, 5] * x[:, 6] > 0).long()
    noisy = torch.rand(n) < flip
    y[noisy] = 1 - y[noisy]
    return x, y


def validate(net, x, y):
    net.eval()
    logits = net(x)
    loss = nn.functional.cross_entropy(logits, y).item()
    acc = (logits.argmax(1) == y).float().mean().item()
    net.train()
    return loss, acc


xt, yt = toy(240, flip=0.15)
xv, yv = toy(400, flip=0.15)
loader = DataLoader(TensorDataset(xt, yt), batch_size=24, shuffle=True)

net = nn.Sequential(nn.Linear(30, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
stop = EarlyStop(patience=12)

for epoch in range(60):
    total = 0.0
    for xb, yb in loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(xb), yb)
        loss.backward()
        opt.step()
        total += loss.item() * len(yb)
    vloss, vacc = validate(net, xv, yv)
    print(f"{epoch:2d} train {total / len(xt):.4f} val {vloss:.4f} acc {vacc:.3f}")
    if stop.update(vloss, net):
        print("stopped")
        break

net.load_state_dict(stop.state)
vloss, vacc = validate(net, xv, yv)
print(f"restored best: recorded {stop.best:.4f}, now {vloss:.4f}, acc {vacc:.3f}")
