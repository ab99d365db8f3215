"""Quantile regression of returns: every predicted quantile meets every sample (B x N x M on purpose)."""
import torch
from torch import nn

N, M = 11, 4
TAU = (torch.arange(N) + 0.5) / N


class Quantiles(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(3, 48), nn.Tanh(), nn.Linear(48, N))

    def forward(self, s):
        return self.f(s)


def quantile_huber(q, samples, k=0.5):
    d = samples[:, None, :] - q[:, :, None]          # (B, N, M): all pairs
    hub = torch.where(d.abs() < k, 0.5 * d * d, k * (d.abs() - 0.5 * k)) / k
    w = (TAU[None, :, None] - (d.detach() < 0).float()).abs()
    return (w * hub).mean(2).sum(1).mean()


def world(n, g):
    s = torch.rand(n, 3, generator=g) * 2 - 1
    mean, spread = 2 * s[:, :1], 0.2 + (s[:, 1:2] + 1) * 0.5
    return s, mean + spread * torch.randn(n, M, generator=g)


def coverage(net, s, r):
    with torch.no_grad():
        q = net(s)
    return [round((r < q[:, i:i + 1]).float().mean().item(), 3) for i in (0, N // 2, N - 1)]


def main():
    torch.manual_seed(13)
    g = torch.Generator().manual_seed(13)
    s, r = world(3000, g)
    st, rt = world(1500, g)
    net = Quantiles()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=1e-2, total_steps=6 * 50)
    for ep in range(6):
        tot = 0.0
        for ix in torch.randperm(3000, generator=g).split(60):
            loss = quantile_huber(net(s[ix]), r[ix])
            opt.zero_grad(set_to_none=False)
            loss.backward()
            opt.step()
            sched.step()
            tot += loss.item() * len(ix)
        print(f"ep {ep} loss {tot / 3000:.4f} lr {sched.get_last_lr()[0]:.6f} coverage {coverage(net, st, rt)}")


main()
