"""Half precision autoencoder for anomaly scores on (synthetic) network flows."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(6)
D, LATENT, EPOCHS = 40, 6, 12


def flows(n, anomalous=False):
    z = torch.randn(n, LATENT)
    W = torch.randn(LATENT, D, generator=torch.Generator().manual_seed(1))
    x = torch.tanh(z @ W) + 0.05 * torch.randn(n, D)
    if anomalous:
        x = x + 0.25 * torch.randn(n, D)
    return x


def rarity(x):
    """weight of each flow: large where flows are rare, sums to one over the data set"""
    w = x.pow(2).mean(1)
    return w / w.sum()


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(D, 64), nn.Tanh(), nn.Linear(64, LATENT))
        self.dec = nn.Sequential(nn.Linear(LATENT, 64), nn.Tanh(), nn.Linear(64, D))

    def forward(self, x):
        return self.dec(self.enc(x))


def auc(normal, odd):
    return (odd[:, None] > normal[None]).float().mean().item()


def score(model, x):
    model.eval()
    with torch.no_grad():
        return ((model(x) - x) ** 2).mean(1)


train_x = flows(3200)
train_loader = DataLoader(TensorDataset(train_x, rarity(train_x)), batch_size=128, shuffle=True)
test_ok, test_odd = flows(300), flows(300, anomalous=True)
model = AutoEncoder()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, eps=1e-12)

for epoch in range(EPOCHS):
    model.train()
    history = []
    for x, w in train_loader:
        with torch.autocast("cpu", dtype=torch.float16):
            recon = model(x)
            loss = (w * (recon - x).pow(2).mean(1)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss)
    mean = torch.stack(history).mean().item()
    print(f"epoch {epoch} loss {mean:.3e} auc {auc(score(model, test_ok), score(model, test_odd)):.4f}")
