"""Mean teacher, few labels and many unlabelled points; the teacher is what we ship."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


def moons(n, g, noise=0.18):
    y = torch.randint(2, (n,), generator=g)
    t = torch.rand(n, generator=g) * torch.pi
    x = torch.where(y == 0, t.cos(), 1 - t.cos())
    z = torch.where(y == 0, t.sin(), 0.5 - t.sin())
    pts = torch.stack([x, z], 1) + noise * torch.randn(n, 2, generator=g)
    return pts * torch.tensor([30.0, 5.0]) + torch.tensor([120.0, -8.0]), y


def mlp():
    return nn.Sequential(
        nn.BatchNorm1d(2), nn.Linear(2, 48), nn.BatchNorm1d(48), nn.ReLU(),
        nn.Linear(48, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 2),
    )


class Ema:
    def __init__(self, student, decay):
        self.decay = decay
        self.net = copy.deepcopy(student)
        for p in self.net.parameters():
            p.requires_grad_(False)
        self.net.eval()

    @torch.no_grad()
    def update(self, student, step):
        d = min(self.decay, (step + 1) / (step + 10))
        for t, s in zip(self.net.parameters(), student.parameters()):
            t.lerp_(s, 1 - d)
        for t, s in zip(self.net.buffers(), student.buffers()):
            t.copy_(s)

    def __call__(self, x):
        return self.net(x)


def jitter(x):
    return x + torch.randn_like(x) * torch.tensor([2.0, 0.4])


def train(seed=0, steps=500):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    xl, yl = moons(40, g)
    xu, _ = moons(2000, g)
    xt, yt = moons(1500, g)
    student = mlp()
    teacher = Ema(student, 0.99)
    opt = torch.optim.Adam(student.parameters(), lr=5e-3)
    for step in range(steps):
        u = xu[torch.randint(len(xu), (64,))]
        out = student(torch.cat([jitter(xl), jitter(u)]))
        with torch.no_grad():
            soft = teacher(jitter(u)).softmax(1)
        sup = F.cross_entropy(out[:len(xl)], yl)
        cons = F.mse_loss(out[len(xl):].softmax(1), soft)
        loss = sup + min(1.0, step / 200) * 2.0 * cons
        opt.zero_grad()
        loss.backward()
        opt.step()
        teacher.update(student, step)
        if (step + 1) % 100 == 0:
            student.eval()
            with torch.no_grad():
                s = (student(xt).argmax(1) == yt).float().mean().item()
                t = (teacher(xt).argmax(1) == yt).float().mean().item()
            student.train()
            print(f"step {step + 1}: student {s:.4f} teacher {t:.4f} sup {sup.item():.4f}")


if __name__ == "__main__":
    train()
