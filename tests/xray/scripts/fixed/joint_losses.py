import torch
import torch.nn as nn
import torch.nn.functional as F

# 준지도 오토인코더: 복원 + 분류를 함께 학습


class JointNet(nn.Module):
    def __init__(self, d=30, z=12, k=6):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Linear(64, z))
        self.dec = nn.Sequential(nn.Linear(z, 64), nn.ReLU(), nn.Linear(64, d))
        self.cls = nn.Linear(z, k)

    def forward(self, x):
        z = self.enc(x)
        return {"x": x, "rec": self.dec(z), "log": self.cls(torch.relu(z))}


def rebuild(o, y):
    return F.mse_loss(o["rec"], o["x"])


def classify(o, y):
    return 0.5 * F.cross_entropy(o["log"], y)


class Objective:
    """Runs several losses over one forward pass, one backward each to spare memory."""

    def __init__(self, opt, *fns):
        self.opt, self.fns = opt, fns
        self.shown = {f.__name__: 0.0 for f in fns}

    def descend(self, out, y):
        left = len(self.fns)
        self.opt.zero_grad()
        for fn in self.fns:
            left -= 1
            loss = fn(out, y)
            loss.backward(retain_graph=left > 0)
            self.shown[fn.__name__] += loss.item() * len(y)
        self.opt.step()

    def flush(self, n):
        out = {k: round(v / n, 4) for k, v in self.shown.items()}
        self.shown = dict.fromkeys(self.shown, 0.0)
        return out


def samples(n, basis, g):
    y = torch.randint(0, 6, (n,), generator=g)
    h = torch.randn(n, 10, generator=g) + 2.0 * F.one_hot(y, 10)
    return torch.tanh(h @ basis / 2) + 0.05 * torch.randn(n, 30, generator=g), y


def main():
    torch.manual_seed(71)
    g = torch.Generator().manual_seed(71)
    basis = torch.randn(10, 30, generator=g)
    (x, y), (xt, yt) = samples(2000, basis, g), samples(800, basis, g)
    net = JointNet()
    goal = Objective(torch.optim.Adam(net.parameters(), lr=2e-3), classify, rebuild)
    for ep in range(10):
        net.train()
        for ix in torch.randperm(2000, generator=g).split(50):
            goal.descend(net(x[ix]), y[ix])
        net.eval()
        with torch.no_grad():
            o = net(xt)
            acc = (o["log"].argmax(1) == yt).float().mean().item()
            print(ep, goal.flush(2000), f"test rec {rebuild(o, yt).item():.4f} acc {acc:.3f}")


main()
