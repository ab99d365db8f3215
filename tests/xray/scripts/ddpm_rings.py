"""Tiny denoising diffusion on 2-D rings with an EMA of the weights."""
import torch
import torch.nn as nn
from torch.func import functional_call
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(9)
T = 40
betas = torch.linspace(1e-4, 0.15, T)
alpha_bar = torch.cumprod(1 - betas, 0)


def rings(n):
    r = torch.where(torch.rand(n) < 0.5, 0.6, 1.4) + 0.03 * torch.randn(n)
    a = 6.2832 * torch.rand(n)
    return torch.stack([r * a.cos(), r * a.sin()], 1)


class Denoiser(nn.Module):
    def __init__(self, h=96):
        super().__init__()
        self.time = nn.Embedding(T, 16)
        self.net = nn.Sequential(nn.Linear(18, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t)], 1))


class ShadowWeights:
    def __init__(self, model, decay=0.98):
        self.decay = decay
        self.shadow = {k: p.detach().clone() for k, p in model.named_parameters()}

    def update(self, model):
        for k, p in model.named_parameters():
            self.shadow[k] = self.decay * self.shadow[k] + (1 - self.decay) * p


def q_sample(x0, t, eps):
    ab = alpha_bar[t][:, None]
    return ab.sqrt() * x0 + (1 - ab).sqrt() * eps


@torch.no_grad()
def sample(model, weights, n):
    x = torch.randn(n, 2)
    for t in reversed(range(T)):
        tt = torch.full((n,), t)
        eps = functional_call(model, weights, (x, tt))
        mean = (x - betas[t] / (1 - alpha_bar[t]).sqrt() * eps) / (1 - betas[t]).sqrt()
        x = mean + (betas[t].sqrt() * torch.randn_like(x) if t else 0)
    return x


def main():
    loader = DataLoader(TensorDataset(rings(2048)), batch_size=128, shuffle=True, drop_last=True)
    model = Denoiser()
    ema = ShadowWeights(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20 * len(loader))
    for epoch in range(20):
        total = 0.0
        for (x0,) in loader:
            t = torch.randint(0, T, (len(x0),))
            eps = torch.randn_like(x0)
            loss = nn.functional.mse_loss(model(q_sample(x0, t, eps), t), eps)
            optimizer.zero_grad()
            optimizer.step()
            loss.backward()
            scheduler.step()
            ema.update(model)
            total += loss.item()
        if epoch % 5 == 4:
            r = sample(model, ema.shadow, 300).norm(dim=1)
            near = torch.minimum((r - 0.6).abs(), (r - 1.4).abs()).mean()
            print(f"epoch {epoch + 1} loss {total / len(loader):.4f} ring distance {near:.4f}")


if __name__ == "__main__":
    main()
