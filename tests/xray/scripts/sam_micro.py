import torch
from torch import nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import PolynomialLR

# 작은 메모리에서 SAM 학습 (마이크로배치 4개 = 한 번의 갱신)


class Ascent:
    """Walks to the worst point nearby and back again."""

    def __init__(self, params, rho):
        self.params, self.rho, self.kept = list(params), rho, None

    @torch.no_grad()
    def up(self):
        gs = [p.grad for p in self.params]
        scale = self.rho / (torch.stack(torch._foreach_norm(gs)).norm() + 1e-12)
        self.kept = torch._foreach_mul(gs, scale.item())
        torch._foreach_add_(self.params, self.kept)

    @torch.no_grad()
    def down(self):
        torch._foreach_sub_(self.params, self.kept)
        self.kept = None


class Trainer:
    def __init__(self, net, updates, lr=0.1, rho=0.05, micro=4):
        self.net, self.micro = net, micro
        self.opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
        self.sched = PolynomialLR(self.opt, total_iters=updates, power=1.0)
        self.ascent = Ascent(net.parameters(), rho)

    def loss(self, part):
        x, y = part
        return F.cross_entropy(self.net(x), y) / self.micro

    def first(self, parts):
        total = 0.0
        for part in parts:
            l = self.loss(part)
            l.backward()
            total += l.item()
            self.sched.step()
        return total, part

    def second(self, parts, part):
        self.loss(part).backward()

    def update(self, parts):
        self.opt.zero_grad()
        total, last = self.first(parts)
        self.ascent.up()
        self.opt.zero_grad()
        self.second(parts, last)
        self.ascent.down()
        self.opt.step()
        return total


def spirals(n, g):
    y = torch.randint(0, 3, (n,), generator=g)
    r = torch.rand(n, generator=g) * 2 + 0.2
    a = 2.2 * r + y * 2.094 + 0.25 * torch.randn(n, generator=g)
    return torch.stack([r * a.cos(), r * a.sin()], 1), y


def main():
    torch.manual_seed(17)
    g = torch.Generator().manual_seed(17)
    x, y = spirals(1280, g)
    xt, yt = spirals(1500, g)
    net = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 3))
    epochs, per = 12, 1280 // 64
    tr = Trainer(net, updates=epochs * per)
    for ep in range(epochs):
        order = torch.randperm(1280, generator=g)
        s = 0.0
        for ix in order.split(64):
            s += tr.update([(x[j], y[j]) for j in ix.split(16)])
        net.eval()
        with torch.no_grad():
            acc = (net(xt).argmax(1) == yt).float().mean().item()
        net.train()
        print(f"{ep:2d} loss {s / per:.4f} acc {acc:.4f} lr {tr.sched.get_last_lr()[0]:.4f}")


main()
