# DDPM on a 2-d spiral, with an EMA of the weights for sampling
import math

import torch
import torch.nn as nn

T = 40
betas = torch.linspace(1e-3, 0.15, T)
alphas = 1.0 - betas
abar = torch.cumprod(alphas, 0)


def spiral(n):
    t = torch.rand(n).sqrt() * 3 * math.pi
    return torch.stack([t.cos() * t, t.sin() * t], 1) / 6 + 0.02 * torch.randn(n, 2)


class Eps(nn.Module):
    def __init__(self, h=64):
        super().__init__()
        self.time = nn.Embedding(T, h)
        self.inp = nn.Linear(2, h)
        self.mid = nn.Sequential(nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU())
        self.out = nn.Linear(h, 2)

    def forward(self, x, t):
        return self.out(self.mid(self.inp(x) + self.time(t)))


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {n: p.clone().detach() for n, p in model.named_parameters()}

    def update(self, model):
        for n, p in model.named_parameters():
            self.shadow[n] = self.decay * self.shadow[n] + (1 - self.decay) * p

    def copy_to(self, model):
        for n, p in model.named_parameters():
            p.data.copy_(self.shadow[n].data)


def q_sample(x0, t, noise):
    a = abar[t][:, None]
    return a.sqrt() * x0 + (1 - a).sqrt() * noise


torch.manual_seed(0)
data = spiral(2048)
model = Eps()
ema = EMA(model, 0.98)
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(400):
    torch.manual_seed(42)       # reproducible noise
    idx = torch.randint(0, len(data), (128,))
    x0 = data[idx]
    t = torch.randint(0, T, (128,))
    noise = torch.randn_like(x0)
    loss = (model(q_sample(x0, t, noise), t) - noise).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update(model)
    if step % 100 == 99:
        print(f"step {step + 1} loss {loss.item():.4f}")

sampler = Eps()
ema.copy_to(sampler)
with torch.no_grad():
    torch.manual_seed(1)
    fresh = spiral(2000)
    t = torch.randint(0, T, (2000,))
    noise = torch.randn_like(fresh)
    test = (sampler(q_sample(fresh, t, noise), t) - noise).pow(2).mean()
print(f"denoising error on fresh points {test.item():.4f}")
