import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.head = nn.Linear(width, 3)

    def forward(self, x):
        return self.head(self.body(x))


def synth(n, seed, shift=0.0):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 20, generator=g)
    s = torch.sin(1.5 * x[:, 0] + shift) + 0.6 * x[:, 1] * x[:, 2] + 0.2 * torch.randn(n, generator=g)
    return x, torch.bucketize(s, torch.tensor([-0.5, 0.5]))


def pretrain(net, epochs=3):
    x, y = synth(600, 1, shift=1.2)
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for _ in range(epochs):
        for idx in torch.randperm(len(x)).split(60):
            opt.zero_grad()
            F.cross_entropy(net(x[idx]), y[idx]).backward()
            opt.step()
    return net


class Stages:
    """head only for the first epochs, then the whole net at a lower rate"""

    def __init__(self, net, opt, unfreeze_at, body_lr):
        self.net, self.opt, self.unfreeze_at, self.body_lr = net, opt, unfreeze_at, body_lr
        net.body.requires_grad_(False)

    def before_epoch(self, epoch):
        if epoch == self.unfreeze_at:
            self.net.body.requires_grad = True
            self.opt.add_param_group({"params": list(self.net.body.parameters()), "lr": self.body_lr})


class Snapshot:
    def __init__(self):
        self.loss, self.weights, self.epoch = float("inf"), None, -1

    def offer(self, loss, net, epoch):
        if loss < self.loss:
            self.loss, self.epoch = loss, epoch
            self.weights = {k: v.detach().cpu() for k, v in net.state_dict().items()}


def validate(net, x, y):
    net.eval()
    with torch.no_grad():
        return F.cross_entropy(net(x), y).item()


def main(a):
    torch.manual_seed(a.seed)
    net = pretrain(Net())
    net.head = nn.Linear(48, 3)
    opt = torch.optim.Adam(net.head.parameters(), lr=a.lr)
    stages, snap = Stages(net, opt, a.unfreeze_at, a.lr / 2), Snapshot()
    start = [p.detach().clone() for p in net.body.parameters()]
    tx, ty = synth(1000, 5)
    vx, vy = synth(500, 6)
    for epoch in range(a.epochs):
        stages.before_epoch(epoch)
        net.train()
        for idx in torch.randperm(len(tx)).split(50):
            opt.zero_grad()
            loss = F.cross_entropy(net(tx[idx]), ty[idx])
            loss.backward()
            opt.step()
        v = validate(net, vx, vy)
        snap.offer(v, net, epoch)
    net.load_state_dict(snap.weights)
    restored = validate(net, vx, vy)
    moved = sum((a - b).pow(2).sum().item() for a, b in zip(net.body.parameters(), start)) ** 0.5
    print(f"body moved {moved:.3f}")
    print(f"best epoch {snap.epoch} val {snap.loss:.4f}  restored val {restored:.4f}")
    return snap.loss, restored, snap.epoch, moved


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--lr", type=float, default=1e-2)
    p.add_argument("--unfreeze-at", type=int, default=3)
    p.add_argument("--seed", type=int, default=0)
    result = main(p.parse_args([]))
