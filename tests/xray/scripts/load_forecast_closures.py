# Forecast of tomorrow's load from the last week; everything is a closure.
import numpy as np
import torch
import torch.nn as nn


def make_series(days=1500, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(days)
    level = 40 + 0.025 * t                       # slow growth of demand
    week = 6 * np.sin(2 * np.pi * t / 7) + 2 * np.cos(4 * np.pi * t / 7)
    noise = np.zeros(days)
    for i in range(1, days):
        noise[i] = 0.7 * noise[i - 1] + rng.normal(0, 1.2)
    return (level + week + noise).astype(np.float32)


def windows(series, back=14):
    x = np.stack([series[i:i + back] for i in range(len(series) - back)])
    y = series[back:]
    return torch.from_numpy(x), torch.from_numpy(y)


def standardiser(series):
    mean, std = float(series.mean()), float(series.std())

    def forward(v):
        return (v - mean) / std

    def backward(v):
        return v * std + mean

    return forward, backward


def log_cosh(pred, target):
    d = pred - target
    return (d + nn.functional.softplus(-2 * d) - 0.6931472).mean()


def make_trainer(model, opt, x, y, batch=64):
    def epoch():
        model.train()
        total = 0.0
        for idx in torch.randperm(len(x)).split(batch):
            loss = log_cosh(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        return total / len(x)

    return epoch


def make_evaluator(model, x, y_raw, to_raw):
    @torch.no_grad()
    def rmse():
        model.eval()
        pred = to_raw(model(x)).squeeze(-1)
        return (pred - y_raw).pow(2).mean().sqrt().item()

    return rmse


def main():
    torch.manual_seed(0)
    series = make_series()
    cut = 1100
    past, future = series[:cut], series[cut:]

    scale, unscale = standardiser(past)
    scale_f, unscale_f = standardiser(future)
    x, y = windows(scale(past))
    xf, _ = windows(scale_f(future))
    _, yf_raw = windows(future)

    model = nn.Sequential(nn.Linear(14, 64), nn.Tanh(), nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 1))
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    epoch = make_trainer(model, opt, x, y)
    rmse = make_evaluator(model, xf, yf_raw, unscale_f)

    for e in range(40):
        loss = epoch()
        if e % 8 == 7:
            print(f"epoch {e + 1:3d}  loss {loss:.4f}  RMSE on the future {rmse():.3f} MW")


main()
