"""Contrastive pre-training with accumulation and bf16, then a linear probe on frozen features."""
import contextlib
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

ACCUM, MICRO, EPOCHS, TEMP = 3, 64, 6, 0.2


def world(n, g):
    y = torch.randint(6, (n,), generator=g)
    centres = torch.randn(6, 6, generator=torch.Generator().manual_seed(42)) * 1.6
    content = centres[y] + 0.6 * torch.randn(n, 6, generator=g)
    style = 2.0 * torch.randn(n, 10, generator=g)
    return torch.cat([content, style], 1), y


def view(x):
    out = x.clone()
    out[:, 6:] = 2.0 * torch.randn_like(out[:, 6:])
    return out + 0.2 * torch.randn_like(out)


def nt_xent(a, b, t):
    z = F.normalize(torch.cat([a, b]).float(), dim=1)
    sim = z @ z.T / t
    sim.fill_diagonal_(float("-inf"))
    n = len(a)
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, target)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(16, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, 32))
        self.proj = nn.Sequential(nn.ReLU(), nn.Linear(32, 16))

    def forward(self, x):
        return self.proj(self.f(x))


def autocast(on=True):
    return torch.autocast("cpu", dtype=torch.bfloat16) if on else contextlib.nullcontext()


def groups(net, wd):
    decay = [p for p in net.parameters() if p.ndim > 1]
    rest = [p for p in net.parameters() if p.ndim <= 1]
    return [{"params": decay, "weight_decay": wd}, {"params": rest, "weight_decay": 0.0}]


def pretrain(x):
    net = Encoder()
    opt = torch.optim.AdamW(groups(net, 1e-4), lr=3e-3)
    micro = math.ceil(len(x) / MICRO)
    updates = EPOCHS * math.ceil(micro / ACCUM)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=updates)
    for epoch in range(EPOCHS):
        chunks = list(torch.randperm(len(x)).split(MICRO))
        seen = total = 0.0
        for i, idx in enumerate(chunks):
            group_start = i - i % ACCUM
            group = sum(len(c) for c in chunks[group_start:group_start + ACCUM])
            with autocast():
                a, b = net(view(x[idx])), net(view(x[idx]))
            loss = nt_xent(a, b, TEMP)
            (loss * len(idx) / group).backward()
            total, seen = total + loss.item() * len(idx), seen + len(idx)
            if (i + 1) % ACCUM == 0 or i + 1 == len(chunks):
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                opt.step()
                sched.step()
                opt.zero_grad(set_to_none=True)
        print(f"epoch {epoch}: contrastive {total / seen:.4f} lr {sched.get_last_lr()[0]:.5f}")
    return net


def probe(net, train, test):
    net.requires_grad_(False).eval()
    f, ft = net.f(train[0]), net.f(test[0])
    mu, sd = f.mean(0), f.std(0)
    f, ft = (f - mu) / sd, (ft - mu) / sd
    head = nn.Linear(32, 6)
    opt = torch.optim.SGD(head.parameters(), lr=0.5, momentum=0.9)
    for _ in range(100):                                   # full batch on purpose
        opt.zero_grad()
        F.cross_entropy(head(f), train[1]).backward()
        opt.step()
    return (head(ft).argmax(1) == test[1]).float().mean().item()


torch.manual_seed(0)
g = torch.Generator().manual_seed(1)
xu, _ = world(2500, g)
few, test = world(120, g), world(1000, g)
print("probe on random features", probe(Encoder(), few, test))
print("probe on contrastive features", probe(pretrain(xu), few, test))
