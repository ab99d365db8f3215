import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Expert(nn.Sequential):
    def __init__(self, d, h):
        super().__init__(nn.Linear(d, h), nn.GELU(), nn.Linear(h, h))


class MixtureRegressor(nn.Module):
    def __init__(self, d_in, n_experts=4, hidden=24):
        super().__init__()
        self.experts = [Expert(d_in, hidden) for _ in range(n_experts)]
        self.gate = nn.Linear(d_in, n_experts)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        w = self.gate(x).softmax(-1)
        h = torch.stack([e(x) for e in self.experts], dim=1)
        return self.out((w.unsqueeze(-1) * h).sum(1)).squeeze(-1)


def load_table(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8)).astype(np.float32)
    regime = (X[:, 0] > 0).astype(int) + 2 * (X[:, 1] > 0).astype(int)
    coef = np.random.default_rng(99).normal(size=(4, 8))
    y = (X * coef[regime]).sum(1) + 0.1 * rng.normal(size=n)
    return torch.from_numpy(X), torch.from_numpy(y.astype(np.float32))


@torch.no_grad()
def r2(model, loader):
    model.eval()
    pred, true = [], []
    for x, y in loader:
        pred.append(model(x))
        true.append(y)
    pred, true = torch.cat(pred), torch.cat(true)
    return 1 - ((pred - true) ** 2).sum().item() / ((true - true.mean()) ** 2).sum().item()


config = dict(lr=1e-2, epochs=10, micro=25, accum=4, seed=17)
torch.manual_seed(config["seed"])
train_loader = DataLoader(TensorDataset(*load_table(1600, 0)), batch_size=config["micro"], shuffle=True)
val_loader = DataLoader(TensorDataset(*load_table(500, 1)), batch_size=250)
model = MixtureRegressor(8)
optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
updates_per_epoch = len(train_loader) // config["accum"]
scheduler = torch.optim.lr_scheduler.LinearLR(
    optimizer, start_factor=1.0, end_factor=0.0, total_iters=config["epochs"] * updates_per_epoch)
loss_fn = nn.MSELoss()

for epoch in range(config["epochs"]):
    model.train()
    running = 0.0
    for i, (x, y) in enumerate(train_loader, start=1):
        loss = loss_fn(model(x), y)
        (loss / config["accum"]).backward()
        running += loss.item()
        if i % config["accum"] == 0:
            optimizer.step()
            optimizer.zero_grad()
        scheduler.step()
    print(f"epoch {epoch + 1} lr {scheduler.get_last_lr()[0]:.5f} mse {running / len(train_loader):.4f} val r2 {r2(model, val_loader):.4f}")
