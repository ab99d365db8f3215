"""Drift correction for a bank of gas sensors (synthetic)."""
import math
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)


@dataclass
class Smoothed:
    """Smoothed curve for the progress bar plus per-epoch points."""
    momentum: float = 0.97
    value: torch.Tensor | None = None
    points: list = field(default_factory=list)

    def update(self, x):
        if self.value is None:
            self.value = x
        else:
            self.value = torch.lerp(x.detach(), self.value.detach(), self.momentum)

    def mark(self):
        self.points.append(float(self.value))


def make_rows(n, hard):
    x = torch.randn(n, 12)
    drift = torch.sin(1.5 * x[:, :4]).sum(1, keepdim=True) + 0.5 * x[:, 4:5] * x[:, 5:6]
    noise = torch.randn(n, 1) * (0.1 if not hard else 2.0)
    return x, drift + noise


class Corrector(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, width), nn.SiLU(),
                                  nn.Linear(width, width), nn.SiLU(),
                                  nn.Linear(width, 1))

    def forward(self, x):
        return self.body(x)


@torch.no_grad()
def assess(net, loader):
    was = net.training
    net.eval()
    parts = []
    for x, y in loader:
        err = (net(x) - y).square()
        parts.append(torch.stack([err.sum(), torch.tensor(float(len(y)))]))
    net.train(was)
    top, bottom = torch.stack(parts).sum(0)
    return math.sqrt(top / bottom)


def main():
    xa, ya = make_rows(1920, hard=False)
    xv, yv = make_rows(256, hard=False)
    xo, yo = make_rows(6, hard=True)          # the six refurbished sensors come last
    val = TensorDataset(torch.cat([xv, xo]), torch.cat([yv, yo]))
    train_dl = DataLoader(TensorDataset(xa, ya), batch_size=64, shuffle=True)
    val_dl = DataLoader(val, batch_size=64)

    net = Corrector()
    optim = torch.optim.Adam(net.parameters(), lr=2e-3)
    curve = Smoothed()
    for epoch in range(12):
        for x, y in train_dl:
            optim.zero_grad()
            loss = nn.functional.mse_loss(net(x), y)
            loss.backward()
            optim.step()
            curve.update(loss)
        curve.mark()
        print(f"epoch {epoch:2d}  train {curve.points[-1]:.4f}  val rmse {assess(net, val_dl):.4f}")


if __name__ == "__main__":
    main()
