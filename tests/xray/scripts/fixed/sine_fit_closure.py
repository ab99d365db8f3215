"""Fit a noisy chirp with random Fourier features. train() returns a function that does one iteration."""
import math

import torch
from torch import nn


class FourierMLP(nn.Module):
    def __init__(self, n_freq=16, hidden=48, sigma=3.0):
        super().__init__()
        self.register_buffer("B", torch.randn(1, n_freq) * sigma)
        self.mlp = nn.Sequential(
            nn.Linear(2 * n_freq, hidden), nn.GELU(),
            nn.Linear(hidden, hidden), nn.GELU(),
            nn.Linear(hidden, 1))

    def forward(self, t):
        p = 2 * math.pi * t @ self.B
        return self.mlp(torch.cat([p.sin(), p.cos()], dim=-1))


def chirp(t):
    return torch.sin(2 * math.pi * (1 + 2 * t) * t) * torch.exp(-t)


def make_trainer(model, lr, noise):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    history = []

    def iteration(batch_size):
        t = torch.rand(batch_size, 1)
        y = chirp(t) + noise * torch.randn_like(t)
        optimizer.zero_grad()
        pred = model(t)
        loss = (pred - y).square().mean()
        loss.backward()
        optimizer.step()
        history.append(loss.item())
        return history[-1]

    return iteration, history


def main():
    torch.manual_seed(0)
    model = FourierMLP()
    iteration, history = make_trainer(model, lr=0.05, noise=0.05)
    for i in range(400):
        iteration(64)
        if (i + 1) % 100 == 0:
            print(f"{i + 1:5d}  train loss {sum(history[-50:]) / 50:.5f}")
    grid = torch.linspace(0, 1, 200)[:, None]
    with torch.no_grad():
        err = (model(grid) - chirp(grid)).abs().mean().item()
    print(f"mean abs error on the grid: {err:.5f}")


if __name__ == "__main__":
    main()
