"""Sharpness-aware minimisation + EMA (with buffers) in a 3-fold ensemble."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base = base(self.param_groups, **kwargs)
        self.param_groups = self.base.param_groups
        self.offsets = {}

    @torch.no_grad()
    def ascend(self):
        params = [p for g in self.param_groups for p in g["params"] if p.grad is not None]
        norm = torch.stack([p.grad.norm() for p in params]).norm() + 1e-12
        for g in self.param_groups:
            for p in g["params"]:
                if p.grad is not None:
                    e = p.grad * (g["rho"] / norm)
                    p.add_(e)
                    self.offsets[p] = e

    @torch.no_grad()
    def step(self, closure=None):
        for p, e in self.offsets.items():
            p.sub_(e)
        self.offsets.clear()
        self.base.step()


class EMA:
    def __init__(self, model, decay):
        self.module = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for e, p in zip(self.module.parameters(), model.parameters()):
            e.lerp_(p, 1 - self.decay)
        for e, b in zip(self.module.buffers(), model.buffers()):
            e.copy_(b)


def freeze_bn_stats(model, frozen):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm1d):
            m.momentum = 0.0 if frozen else 0.1


def train_fold(x, y, epochs=8, batch=50):
    model = nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 4))
    ema = EMA(model, 0.95)
    opt = SAM(model.parameters(), torch.optim.SGD, rho=0.1, lr=0.1, momentum=0.9, nesterov=True)
    total = epochs * (len(x) // batch)
    sched = SequentialLR(opt.base, [LinearLR(opt.base, 0.1, total_iters=10),
                                    CosineAnnealingLR(opt.base, total - 10)], milestones=[10])
    for _ in range(epochs):
        model.train()
        for idx in torch.randperm(len(x))[:len(x) // batch * batch].view(-1, batch):
            opt.zero_grad()
            F.cross_entropy(model(x[idx]), y[idx]).backward()
            opt.ascend()

            opt.zero_grad()
            freeze_bn_stats(model, True)
            F.cross_entropy(model(x[idx]), y[idx]).backward()
            freeze_bn_stats(model, False)
            opt.step()
            sched.step()
            ema.update(model)
    return ema.module


if __name__ == "__main__":
    torch.manual_seed(19)
    w1, w2 = torch.randn(20, 12), torch.randn(12, 4)
    x = torch.randn(2100, 20)
    y = (torch.tanh(x @ w1) @ w2 + 0.5 * torch.randn(2100, 4)).argmax(1)
    x_dev, y_dev, x_test, y_test = x[:1500], y[:1500], x[1500:], y[1500:]
    folds = torch.randperm(1500).view(3, -1)
    votes, oof = torch.zeros(600, 4), 0
    for k in range(3):
        va = folds[k]
        tr = torch.cat([folds[j] for j in range(3) if j != k])
        mean, std = x_dev[tr].mean(0), x_dev[tr].std(0)
        net = train_fold((x_dev[tr] - mean) / std, y_dev[tr])
        with torch.no_grad():
            hits = (net((x_dev[va] - mean) / std).argmax(1) == y_dev[va]).sum().item()
            votes += F.softmax(net((x_test - mean) / std), dim=1) / 3
        oof += hits
        print(f"fold {k} val accuracy {hits / len(va):.4f}")
    print(f"out-of-fold accuracy {oof / 1500:.4f} ensemble test accuracy "
          f"{(votes.argmax(1) == y_test).float().mean().item():.4f}")
