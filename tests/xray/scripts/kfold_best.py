"""k-fold: a fresh model per fold, scaling from the fold's training rows, the best epoch kept as a deep copy."""
import copy
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def folds(n, k, gen):
    parts = torch.randperm(n, generator=gen).chunk(k)
    for i in range(k):
        yield torch.cat([p for j, p in enumerate(parts) if j != i]), parts[i]


def build(d):
    return nn.Sequential(nn.Linear(d, 48), nn.ReLU(), nn.Dropout(0.2), nn.Linear(48, 1))


def squared(net, loader):
    net.eval()
    with torch.no_grad():
        s = sum(F.mse_loss(net(x), y, reduction="sum").item() for x, y in loader)
    return s / len(loader.dataset)


def fit(train, val, d, epochs=12):
    net = build(d)
    opt = torch.optim.RMSprop(net.parameters(), lr=4e-3)
    lr0, lr1 = 4e-3, 2e-4
    best, keep = float("inf"), None
    for epoch in range(epochs):
        frac = epoch / (epochs - 1)
        for g in opt.param_groups:  # manual geometric schedule, ends exactly at lr1
            g["lr"] = lr0 * (lr1 / lr0) ** frac
        net.train()
        for x, y in train:
            opt.zero_grad(set_to_none=True)
            F.mse_loss(net(x), y).backward()
            opt.step()
        v = squared(net, val)
        if v < best:
            best, keep = v, copy.deepcopy(net.state_dict())
    net.load_state_dict(keep)
    assert abs(squared(net, val) - best) < 1e-6
    return squared(net, train), best


def main():
    torch.manual_seed(61)
    gen = torch.Generator().manual_seed(1)
    raw = torch.randn(500, 9) * torch.tensor([1., 5, 20, 1, 3, 9, 2, 1, 7]) + 4
    z = (raw - 4) / torch.tensor([1., 5, 20, 1, 3, 9, 2, 1, 7])
    y = (z[:, 0] * z[:, 1] + torch.cos(z[:, 2]) + 0.2 * torch.randn(500))[:, None]
    scores = []
    for i, (tr, va) in enumerate(folds(500, 5, gen)):
        mu, sd = raw[tr].mean(0), raw[tr].std(0)
        make = lambda idx, sh: DataLoader(TensorDataset((raw[idx] - mu) / sd, y[idx]), batch_size=32, shuffle=sh)
        t, v = fit(make(tr, True), make(va, False), 9)
        scores.append(v)
        print(f"fold {i}: train mse {t:.4f} best val mse {v:.4f}")
    s = torch.tensor(scores)
    print(f"mean {s.mean():.4f} +- {s.std():.4f}")


main()
