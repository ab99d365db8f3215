import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class VAE(nn.Module):
    def __init__(self, d=16, z=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d, 48), nn.ReLU())
        self.mu, self.logvar = nn.Linear(48, z), nn.Linear(48, z)
        self.decoder = nn.Sequential(nn.Linear(z, 48), nn.ReLU(), nn.Linear(48, d))

    def forward(self, x):
        h = self.encoder(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.decoder(z), mu, logvar


def elbo(recon, x, mu, logvar, beta):
    rec = F.mse_loss(recon, x, reduction="sum") / len(x)
    kl = -0.5 * (1 + logvar - mu**2 - logvar.exp()).sum(1).mean()
    return rec + beta * kl


class VAETrainer:
    def __init__(self, model, loader, lr=2e-3):
        self.model, self.loader = model, loader
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)

    def warm_up_decoder(self, steps=5):
        for p in self.model.encoder.parameters():
            p.requires_grad = False
        it = iter(self.loader)
        for _ in range(steps):
            (x,) = next(it)
            self._step(x, beta=0.0)
        for p in self.model.encoder.parameters():
            p.requires_grad = True

    def _step(self, x, beta):
        loss = elbo(*self._with_input(x), beta)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

    def _with_input(self, x):
        recon, mu, logvar = self.model(x)
        return recon, x, mu, logvar

    def fit(self, epochs):
        self.warm_up_decoder()
        for e in range(epochs):
            total = 0.0
            for (x,) in self.loader:
                total += self._step(x, beta=min(1.0, e / 4))
            print(f"epoch {e} elbo {total / len(self.loader):.4f}")


torch.manual_seed(0)
basis = torch.randn(3, 16)
data = torch.randn(960, 3) @ basis + 0.1 * torch.randn(960, 16)
VAETrainer(VAE(), DataLoader(TensorDataset(data), batch_size=64, shuffle=True)).fit(6)
