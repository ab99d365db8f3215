"""Five-fold cross-validation on a small table (n=300, p=40)."""
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn


@dataclass
class Cfg:
    n: int = 300
    p: int = 40
    folds: int = 5
    epochs: int = 30
    batch: int = 32
    lr: float = 2e-3
    wd: float = 1e-3
    drop: float = 0.5
    seed: int = 5


def load(cfg):
    rng = np.random.default_rng(cfg.seed)
    x = rng.normal(size=(cfg.n, cfg.p)).astype(np.float32)
    logit = 1.6 * x[:, 0] - 1.4 * x[:, 1] + 1.0 * x[:, 2] * x[:, 3]
    y = (rng.random(cfg.n) < 1 / (1 + np.exp(-logit))).astype(np.float32)
    return x, y


def folds(cfg):
    order = np.random.default_rng(cfg.seed + 1).permutation(cfg.n)
    parts = np.array_split(order, cfg.folds)
    for k in range(cfg.folds):
        yield np.concatenate([p for j, p in enumerate(parts) if j != k]), parts[k]


def build(cfg):
    return nn.Sequential(
        nn.Linear(cfg.p, 64), nn.ReLU(), nn.Dropout(cfg.drop),
        nn.Linear(64, 64), nn.ReLU(), nn.Dropout(cfg.drop),
        nn.Linear(64, 1), nn.Flatten(0),
    )


def fit(model, x, y, cfg):
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr, weight_decay=cfg.wd)
    model.train()
    for _ in range(cfg.epochs):
        for idx in torch.randperm(len(x)).split(cfg.batch):
            loss = nn.functional.binary_cross_entropy_with_logits(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()


def score(model, x, y):
    with torch.no_grad():
        logit = model(x)
        nll = nn.functional.binary_cross_entropy_with_logits(logit, y).item()
        acc = ((logit > 0) == (y > 0.5)).float().mean().item()
    return acc, nll


def main():
    cfg = Cfg()
    torch.manual_seed(cfg.seed)
    x, y = load(cfg)
    model = build(cfg)

    accs, nlls = [], []
    for k, (tr, va) in enumerate(folds(cfg)):
        mu, sd = x[tr].mean(0), x[tr].std(0) + 1e-8
        xt, xv = (torch.from_numpy((x[i] - mu) / sd) for i in (tr, va))
        yt, yv = torch.from_numpy(y[tr]), torch.from_numpy(y[va])
        fit(model, xt, yt, cfg)
        a, n = score(model, xv, yv)
        accs.append(a)
        nlls.append(n)
        print(f"fold {k}: held-out accuracy {a:.3f}, nll {n:.3f}")
    print(f"CV accuracy {np.mean(accs):.3f} +- {np.std(accs):.3f}, nll {np.mean(nlls):.3f}")


if __name__ == "__main__":
    main()
