"""Predictive uncertainty by MC dropout, plus an adversarial-style second pass while training."""
import argparse
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--samples", type=int, default=10)
parser.add_argument("--eps", type=float, default=0.05)
opt = parser.parse_args()

torch.manual_seed(12)
np.random.seed(12)
x = torch.rand(600, 1) * 6 - 3
y = torch.sin(2 * x) + 0.1 * torch.randn_like(x)
train_loader = DataLoader(TensorDataset(x[:480], y[:480]), batch_size=48, shuffle=True)
val_x, val_y = x[480:], y[480:]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(1, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.1),
            nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.1))
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        return self.out(self.body(x))


def enable_mc_dropout(model):
    """everything in eval mode but the dropout layers"""
    model.eval()
    for m in model.modules():
        if isinstance(m, nn.Dropout):
            m.train()


net = Net()
criterion = nn.MSELoss(reduction="sum")
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(opt.epochs):
    net.train()
    run = 0.0
    for xb, yb in train_loader:
        # gradient with respect to the input only, parameters are untouched by this call
        probe = xb.clone().requires_grad_(True)
        grad = torch.autograd.grad(criterion(net(probe), yb), probe)[0]
        x_adv = (xb + opt.eps * grad.sign()).detach()

        optimizer.zero_grad()
        clean = criterion(net(xb), yb) / len(xb)
        adv = criterion(net(x_adv), yb) / len(xb)
        loss = 0.5 * (clean + adv)
        loss.backward()
        optimizer.step()
        run += loss.item() * len(xb)

    enable_mc_dropout(net)
    with torch.no_grad():
        draws = torch.stack([net(val_x) for _ in range(opt.samples)])
    mean, std = draws.mean(0), draws.std(0)
    rmse = (mean - val_y).pow(2).mean().sqrt().item()
    print(f"epoch {epoch} train {run / 480:.4f} val rmse {rmse:.4f} mean std {std.mean().item():.4f}")
