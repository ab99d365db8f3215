"""Concentration from noisy spectra (regression)."""
import warnings
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore")
torch.manual_seed(14)


class Spectra(Dataset):
    def __init__(self, n, jitter=0.0):
        grid = torch.linspace(-3, 3, 40)
        self.conc = 2 * torch.rand(n)
        centre = 0.5 * torch.randn(n, 1)
        peak = torch.exp(-(grid - centre) ** 2)
        self.spec = self.conc[:, None] * peak + 0.05 * torch.randn(n, 40)
        self.jitter = jitter

    def __len__(self):
        return len(self.conc)

    def __getitem__(self, idx):
        s = self.spec[idx]
        if self.jitter:
            s += self.jitter * torch.randn(40)
        return s, self.conc[idx]


def evaluate(model, loader):
    model.eval()
    sq = 0.0
    with torch.no_grad():
        for s, c in loader:
            sq += (model(s).squeeze(1) - c).pow(2).sum().item()
    return (sq / len(loader.dataset)) ** 0.5


train_ds = Spectra(600, jitter=0.3)
val_ds = Spectra(200)
train_dl = DataLoader(train_ds, batch_size=40, shuffle=True)
val_dl = DataLoader(val_ds, batch_size=100)

model = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 1))
loss_fn = nn.MSELoss()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
print(f"input std before training {train_ds.spec.std():.3f}")

for epoch in range(15):
    model.train()
    total = 0.0
    for s, c in train_dl:
        opt.zero_grad()
        loss = loss_fn(model(s), c)
        loss.backward()
        opt.step()
        total += loss.item() * len(c)
    print(f"epoch {epoch:2d} mse {total / len(train_ds):.4f} val rmse {evaluate(model, val_dl):.4f}")

print(f"input std after training {train_ds.spec.std():.3f}")
