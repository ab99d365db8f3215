"""Predict tiny displacements (micrometres given in metres) with half-precision compute."""
import argparse
import torch
from torch import nn
import torch.nn.functional as F


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--amp", choices=["none", "fp16"], default="fp16")
    p.add_argument("--device", default="cpu")
    p.add_argument("--epochs", type=int, default=15)
    p.add_argument("--lr", type=float, default=1e-3)
    return p.parse_args([])


class Beam:
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.load = torch.randn(n, 8, generator=g)
        bend = self.load[:, :4].sin().sum(1) - self.load[:, 4] * self.load[:, 5]
        self.move = (bend * 2e-4).unsqueeze(1)

    def loader(self, size):
        order = torch.randperm(len(self.load))
        return ((self.load[i], self.move[i]) for i in order.split(size))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.g = nn.Linear(64, 1)
        nn.init.normal_(self.g.weight, std=1e-3)
        nn.init.zeros_(self.g.bias)

    def forward(self, x):
        return self.g(self.f(x))


def explained(net, data):
    net.eval()
    with torch.no_grad():
        err = F.mse_loss(net(data.load), data.move)
    return 1 - (err / data.move.var(unbiased=False)).item()


def main():
    args = parse()
    torch.manual_seed(40)
    fp16 = args.amp == "fp16"
    train, val = Beam(800, 1), Beam(400, 2)
    net = Net().to(args.device)
    opt = torch.optim.Adam(net.parameters(), lr=args.lr, eps=1e-12)
    scaler = torch.amp.GradScaler(args.device, enabled=fp16)
    zeros = []
    for epoch in range(args.epochs):
        net.train()
        for x, y in train.loader(40):
            opt.zero_grad()
            with torch.autocast(args.device, dtype=torch.float16, enabled=fp16):
                out = net(x)
            loss = F.mse_loss(out.float(), y)
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
            zeros.append((net.f[0].weight.grad == 0).float().mean().item())
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1} val explained {explained(net, val):.4f} "
                  f"zero grads in first layer {sum(zeros[-20:]) / 20:.3f}")
    return explained(net, val), sum(zeros) / len(zeros)


if __name__ == "__main__":
    result = main()
