# Layer-wise growth: train shallow first, then stack more blocks on the same tower.
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.a, self.b = nn.Linear(w, w), nn.Linear(w, w)

    def forward(self, h):
        return h + self.b(torch.relu(self.a(h)))


class Tower(nn.Module):
    def __init__(self, d, w):
        super().__init__()
        self.inp = nn.Linear(d, w)
        self.blocks = nn.ModuleList()
        self.out = nn.Linear(w, 1)

    def forward(self, x):
        h = torch.relu(self.inp(x))
        for b in self.blocks:
            h = b(h)
        return self.out(torch.relu(h)).squeeze(-1)


class Callback:
    def epoch_start(self, loop, epoch): ...
    def epoch_end(self, loop, epoch): ...


class Grow(Callback):
    def __init__(self, at, width):
        self.at, self.width = set(at), width

    def epoch_start(self, loop, epoch):
        if epoch in self.at:
            block = Block(self.width)
            loop.net.blocks.append(block)
            print(f"   grown to {len(loop.net.blocks)} blocks")


class Report(Callback):
    def __init__(self, x, y):
        self.x, self.y = x, y

    @torch.no_grad()
    def epoch_end(self, loop, epoch):
        loop.net.eval()
        mse = (loop.net(self.x) - self.y).square().mean().item()
        loop.net.train()
        print(f"epoch {epoch:2d} train {loop.last:.4f} test {mse:.4f}")


class Loop:
    def __init__(self, net, lr, callbacks):
        self.net, self.cbs = net, callbacks
        self.opt = torch.optim.Adam(net.parameters(), lr=lr)
        self.last = float("nan")

    def run(self, x, y, epochs, bs):
        for e in range(epochs):
            for c in self.cbs:
                c.epoch_start(self, e)
            acc = 0.0
            for ix in torch.randperm(len(x)).split(bs):
                loss = (self.net(x[ix]) - y[ix]).square().mean()
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                acc += loss.item() * len(ix)
            self.last = acc / len(x)
            for c in self.cbs:
                c.epoch_end(self, e)


def target(x):
    return torch.sin(3 * x[:, 0]) * torch.cos(2 * x[:, 1]) + torch.sin(2 * x[:, 2] * x[:, 3])


if __name__ == "__main__":
    torch.manual_seed(14)
    x, xt = torch.rand(3000, 4) * 4 - 2, torch.rand(800, 4) * 4 - 2
    Loop(Tower(4, 24), 4e-3, [Grow([3, 6], 24), Report(xt, target(xt))]).run(x, target(x), 14, 60)
