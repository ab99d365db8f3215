"""A small VAE on synthetic 8x8 'blob' images."""
import argparse

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


def make_images(n, generator):
    grid = torch.arange(8).float()
    cx = torch.rand(n, 1, 1, generator=generator) * 6 + 0.5
    cy = torch.rand(n, 1, 1, generator=generator) * 6 + 0.5
    img = torch.exp(-((grid.view(1, 8, 1) - cy) ** 2 + (grid.view(1, 1, 8) - cx) ** 2) / 2.0)
    return img.view(n, 64)


class VAE(nn.Module):
    def __init__(self, hidden=96, latent=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, hidden), nn.ReLU())
        self.fc_mu = nn.Linear(hidden, latent)
        self.fc_logvar = nn.Linear(hidden, latent)
        self.dec = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, 64))

    def encode(self, x):
        h = self.enc(x)
        return self.fc_mu(h), self.fc_logvar(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def forward(self, x):
        mu, logvar = self.encode(x)
        z = self.reparameterize(mu, logvar)
        return self.dec(z), mu, logvar


def vae_loss(logits, x, mu, logvar):
    rec = F.binary_cross_entropy_with_logits(logits, x)
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / x.size(0)
    return rec + kld, rec, kld


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    g = torch.Generator().manual_seed(args.seed)
    train = make_images(2000, g)
    test = make_images(400, g)
    loader = DataLoader(TensorDataset(train), batch_size=args.batch_size, shuffle=True)

    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(1, args.epochs + 1):
        model.train()
        total = total_kld = 0.0
        for (x,) in loader:
            optimizer.zero_grad()
            logits, mu, logvar = model(x)
            loss, rec, kld = vae_loss(logits, x, mu, logvar)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(x)
            total_kld += kld.item() * len(x)
        if epoch % 5 == 0:
            print(f"epoch {epoch:2d} loss {total / len(train):.4f} kld {total_kld / len(train):.4f}")

    model.eval()
    with torch.no_grad():
        mu, _ = model.encode(test)
        recon = torch.sigmoid(model.dec(mu))
        mse = F.mse_loss(recon, test).item()
        base = F.mse_loss(train.mean(0).expand_as(test), test).item()
    print(f"test reconstruction mse {mse:.4f} (predicting the mean image: {base:.4f})")


if __name__ == "__main__":
    main()
