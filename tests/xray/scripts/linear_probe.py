"""Linear probe: a pretrained convolutional body stays frozen and in eval mode; only the head learns."""
import argparse
import torch
from torch import nn
import torch.nn.functional as F


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                               nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten())

    def forward(self, x):
        return self.f(x)


class Probe(nn.Module):
    def __init__(self, body, classes):
        super().__init__()
        self.body = body.requires_grad_(False)
        self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(16 * 16, classes))

    def train(self, mode=True):
        super().train(mode)
        self.body.eval()
        return self

    def forward(self, x):
        with torch.no_grad():
            z = self.body(x)
        return self.head(z)


def strokes(n, seed, classes):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(classes, (n,), generator=g)
    x = 0.4 * torch.randn(n, 1, 8, 8, generator=g)
    x[torch.arange(n), 0, y % 8] += 1.0
    x[torch.arange(n), 0, :, (y * 3) % 8] += 1.0
    return x, y


def learn(net, params, x, y, epochs, lr, size=40):
    opt = torch.optim.Adam(params, lr=lr)
    for epoch in range(epochs):
        net.train()
        for ids in torch.randperm(len(x)).split(size):
            opt.zero_grad()
            loss = F.cross_entropy(net(x[ids]), y[ids])
            loss.backward()
            opt.step()
        yield epoch, loss.item()


def main(a):
    torch.manual_seed(a.seed)
    body = Body()
    pre = nn.Sequential(body, nn.Linear(16 * 16, 4))
    for epoch, loss in learn(pre, pre.parameters(), *strokes(400, 1, 4), 3, 2e-3):
        print("pretrain", epoch, round(loss, 4))
    net = Probe(body, 8)
    vx, vy = strokes(300, 3, 8)
    for epoch, loss in learn(net, net.head.parameters(), *strokes(400, 2, 8), 6, 3e-3):
        net.eval()
        with torch.no_grad():
            acc = (net(vx).argmax(1) == vy).float().mean().item()
        print(f"probe {epoch} loss {loss:.4f} val acc {acc:.4f}")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    main(ap.parse_args([]))
