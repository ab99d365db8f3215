import copy

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class MatrixFactorization(nn.Module):
    def __init__(self, n_users, n_items, dim=8):
        super().__init__()
        self.user = nn.Embedding(n_users, dim)
        self.item = nn.Embedding(n_items, dim)
        self.user_bias = nn.Embedding(n_users, 1)
        self.item_bias = nn.Embedding(n_items, 1)
        for emb in (self.user, self.item):
            nn.init.normal_(emb.weight, std=0.1)
        for b in (self.user_bias, self.item_bias):
            nn.init.zeros_(b.weight)

    def forward(self, u, i):
        dot = (self.user(u) * self.item(i)).sum(1, keepdim=True)
        return (dot + self.user_bias(u) + self.item_bias(i)).squeeze(1)


class Trainer:
    def __init__(self, model, lr, weight_decay):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr, weight_decay=weight_decay)
        self.best = float("inf")
        self.best_state = None

    def fit(self, train_loader, val_loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            for u, i, r in train_loader:
                loss = ((self.model(u, i) - r) ** 2).mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            rmse = self.rmse(val_loader)
            if rmse < self.best:
                self.best = rmse
                self.best_state = copy.deepcopy(self.model.state_dict())
            print(f"epoch {epoch:2d} last batch {loss.item():.4f} val rmse {rmse:.4f}")
        self.model.load_state_dict(self.best_state)

    @torch.no_grad()
    def rmse(self, loader):
        self.model.eval()
        se = n = 0
        for u, i, r in loader:
            se += ((self.model(u, i).view(-1) - r) ** 2).sum().item()
            n += len(r)
        return (se / n) ** 0.5


def load_ratings(n=9000, users=120, items=80, seed=0):
    rng = np.random.default_rng(seed)
    pu, qi = rng.normal(size=(users, 3)), rng.normal(size=(items, 3))
    u, i = rng.integers(0, users, n), rng.integers(0, items, n)
    r = 0.7 * (pu[u] * qi[i]).sum(1) + 0.5 * rng.normal(size=items)[i] + 0.2 * rng.normal(size=n)
    return torch.as_tensor(u), torch.as_tensor(i), torch.as_tensor(r, dtype=torch.float32)


if __name__ == "__main__":
    torch.manual_seed(0)
    u, i, r = load_ratings()
    r = r - r[:7500].mean()
    train_loader = DataLoader(TensorDataset(u[:7500], i[:7500], r[:7500]), batch_size=256, shuffle=True)
    val_loader = DataLoader(TensorDataset(u[7500:], i[7500:], r[7500:]), batch_size=500)
    trainer = Trainer(MatrixFactorization(120, 80), lr=1e-2, weight_decay=1e-5)
    trainer.fit(train_loader, val_loader, epochs=12)
    print(f"restored model: val rmse {trainer.rmse(val_loader):.4f} (std of ratings {r[7500:].std():.4f})")
