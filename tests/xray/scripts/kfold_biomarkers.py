"""5-fold cross-validation of a small MLP on 'gene expression' data."""
import numpy as np
import torch
import torch.nn as nn

SEED = 4
N, D, KEEP, K = 120, 1500, 25, 5


def load():
    """Case/control labels are independent of the features here (sanity run)."""
    rng = np.random.default_rng(SEED)
    x = rng.normal(size=(N, D)).astype(np.float32)
    y = rng.permutation(np.repeat([0, 1], N // 2)).astype(np.int64)
    return x, y


def kfold_indices(n, k, rng):
    order = rng.permutation(n)
    for fold in np.array_split(order, k):
        yield np.setdiff1d(order, fold), fold


def top_features(x, y, keep):
    diff = np.abs(x[y == 1].mean(0) - x[y == 0].mean(0))
    return np.argsort(diff)[::-1][:keep].copy()


def build_model(n_in):
    return nn.Sequential(nn.Linear(n_in, 32), nn.ReLU(), nn.Linear(32, 2))


def train_fold(model, optimizer, x, y, epochs=25):
    criterion = nn.CrossEntropyLoss()
    model.train()
    for _ in range(epochs):
        total = 0.0
        perm = torch.randperm(len(x))
        for i in range(0, len(x), 16):
            idx = perm[i:i + 16]
            optimizer.zero_grad()
            loss = criterion(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
    return total / len(x)


def score(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(SEED)
    rng = np.random.default_rng(SEED + 1)
    x, y = load()
    cols = top_features(x, y, KEEP)
    model = build_model(KEEP)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scores = []
    for fold, (tr, va) in enumerate(kfold_indices(N, K, rng)):
        x_tr, x_va = x[tr][:, cols], x[va][:, cols]
        mean, std = x_tr.mean(0), x_tr.std(0)
        x_tr = torch.from_numpy((x_tr - mean) / std)
        x_va = torch.from_numpy((x_va - mean) / std)
        y_tr, y_va = torch.from_numpy(y[tr]), torch.from_numpy(y[va])
        loss = train_fold(model, optimizer, x_tr, y_tr)
        acc = score(model, x_va, y_va)
        scores.append(acc)
        print(f"fold {fold} train loss {loss:.4f} val acc {acc:.4f}")
    print(f"cv accuracy {np.mean(scores):.4f} +- {np.std(scores):.4f}")


if __name__ == "__main__":
    main()
