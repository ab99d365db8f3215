import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

CONTEXT, HORIZON = 36, 6


def hourly_load(hours=700, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(hours)
    daily = np.sin(2 * np.pi * t / 24) + 0.4 * np.sin(4 * np.pi * t / 24 + 1)
    drift = np.cumsum(0.12 * rng.standard_normal(hours))
    return (daily + drift + 0.35 * rng.standard_normal(hours)).astype(np.float32)


def make_windows(series):
    x, y = [], []
    for i in range(len(series) - CONTEXT - HORIZON + 1):
        x.append(series[i:i + CONTEXT])
        y.append(series[i + CONTEXT:i + CONTEXT + HORIZON])
    return torch.from_numpy(np.stack(x)), torch.from_numpy(np.stack(y))


def split(series, frac=0.75, seed=0):
    x, y = make_windows(series)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    cut = int(frac * len(x))
    tr, va = order[:cut], order[cut:]
    return TensorDataset(x[tr], y[tr]), TensorDataset(x[va], y[va])


class Forecaster(nn.Module):
    def __init__(self, hidden=192):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(CONTEXT, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                                 nn.Linear(hidden, HORIZON))

    def forward(self, x):
        last = x[:, -1:]
        return last + self.net(x - last)


def evaluate(model, loader):
    model.eval()
    err, n = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            err += (model(x) - y).abs().sum().item()
            n += y.numel()
    return err / n


def fit(model, train_loader, val_loader, epochs, lr):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    best, best_state, best_epoch = float("inf"), None, None
    for epoch in range(epochs):
        model.train()
        for x, y in train_loader:
            loss = nn.functional.l1_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        mae = evaluate(model, val_loader)
        if mae < best:
            best, best_epoch = mae, epoch
            best_state = model.state_dict()
        if epoch % 8 == 0:
            print(f"epoch {epoch} train mae {loss.item():.4f} val mae {mae:.4f}")
    model.load_state_dict(best_state)
    return best, best_epoch


if __name__ == "__main__":
    torch.manual_seed(0)
    train_set, val_set = split(hourly_load())
    train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=128)
    model = Forecaster()
    best, best_epoch = fit(model, train_loader, val_loader, epochs=40, lr=2e-3)
    print(f"best {best:.4f} in epoch {best_epoch}, restored model {evaluate(model, val_loader):.4f}")
    fresh = DataLoader(TensorDataset(*make_windows(hourly_load(400, seed=5))), batch_size=128)
    print(f"mae on a later series {evaluate(model, fresh):.4f}")
