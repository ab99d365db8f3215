"""K-fold cross-validation with MC dropout uncertainty (dropout stays on for the predictive samples)."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def seed_all(seed):
    np.random.seed(seed)
    torch.manual_seed(seed)


def build():
    return nn.Sequential(nn.Linear(9, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Dropout(0.2),
                         nn.Linear(48, 48), nn.ReLU(), nn.Dropout(0.2), nn.Linear(48, 1))


def mc_predict(model, x, samples=20):
    model.eval()
    for m in model.modules():
        if isinstance(m, nn.Dropout):
            m.train()
    with torch.no_grad():
        draws = torch.stack([model(x).squeeze(1) for _ in range(samples)])
    model.eval()
    return draws.mean(0), draws.std(0)


def fit(train_set, epochs=10):
    model = build()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=1e-3)
    loader = DataLoader(train_set, batch_size=32, shuffle=True, drop_last=True)
    loss_fn = nn.HuberLoss()
    for _ in range(epochs):
        model.train()
        for x, y in loader:
            optimizer.zero_grad(set_to_none=True)
            loss = loss_fn(model(x).squeeze(1), y)
            loss.backward()
            optimizer.step()
    return model


def main(k=4):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 9)).astype(np.float32)
    y = (np.sin(X[:, 0] * 2) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=600)).astype(np.float32)
    folds = np.array_split(rng.permutation(600), k)
    scores = []
    for f in range(k):
        seed_all(100)  # same initial weights for every fold, so that folds compare
        val_idx = folds[f]
        tr_idx = np.concatenate([folds[j] for j in range(k) if j != f])
        mean, std = X[tr_idx].mean(0), X[tr_idx].std(0)
        Xn = torch.from_numpy((X - mean) / std)
        Y = torch.from_numpy(y)
        model = fit(TensorDataset(Xn[tr_idx], Y[tr_idx]))
        mu, sd = mc_predict(model, Xn[val_idx])
        rmse = (mu - Y[val_idx]).pow(2).mean().sqrt().item()
        cover = ((mu - Y[val_idx]).abs() < 2 * sd).float().mean().item()
        scores.append(rmse)
        print(f"fold {f} rmse {rmse:.4f} 2-sigma coverage {cover:.3f}")
    print(f"rmse {np.mean(scores):.4f} +- {np.std(scores):.4f}")


if __name__ == "__main__":
    main()
