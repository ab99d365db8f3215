"""Contrastive pretraining, then a linear probe on purposely frozen features computed once under no_grad."""
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(58)
proto = torch.randn(6, 24)


def draw(n):
    y = torch.randint(0, 6, (n,))
    return proto[y] + 1.0 * torch.randn(n, 24), y


def view(x):
    keep = (torch.rand_like(x) > 0.2).float()
    return x * keep + 0.3 * torch.randn_like(x)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(24, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32))
        self.proj = nn.Linear(32, 16)

    def forward(self, x):
        return self.net(x)


def info_nce(a, b, tau=0.3):
    z = F.normalize(torch.cat([a, b]), dim=1)
    sim = z @ z.T / tau
    sim.fill_diagonal_(float("-inf"))
    n = len(a)
    partner = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, partner)


x_un, _ = draw(960)
x_tr, y_tr = draw(240)
x_te, y_te = draw(400)
enc = Encoder()
opt = torch.optim.Adam(enc.parameters(), lr=3e-3)
loader = DataLoader(TensorDataset(x_un), batch_size=80, shuffle=True)

for epoch in range(8):
    enc.train()
    total = 0.0
    for (x,) in loader:
        loss = info_nce(enc.proj(enc(view(x))), enc.proj(enc(view(x))))
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(x)
    print(f"contrastive {epoch}: {total / len(x_un):.4f}")

# linear probe: the encoder stays as it is
enc.eval()
for p in enc.parameters():
    p.requires_grad = False
with torch.no_grad():
    f_tr, f_te = enc(x_tr), enc(x_te)

probe = nn.Linear(32, 6)
p_opt = torch.optim.SGD(probe.parameters(), lr=0.3)
for step in range(120):
    idx = torch.randint(0, len(f_tr), (60,))
    loss = F.cross_entropy(probe(f_tr[idx]), y_tr[idx])
    p_opt.zero_grad()
    loss.backward()
    p_opt.step()
    if step % 40 == 39:
        with torch.no_grad():
            acc = (probe(f_te).argmax(1) == y_te).float().mean().item()
        print(f"probe {step + 1}: loss {loss.item():.4f} test acc {acc:.4f}")
