"""A loop with hooks: learning-rate plan, row logger."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Hook:
    def before_epoch(self, r): pass
    def after_step(self, r, loss, k): pass
    def after_epoch(self, r): pass


class Plan(Hook):
    """One rate per epoch, taken from a list."""

    def __init__(self, opt, factors):
        self.sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda e: factors[min(e, len(factors) - 1)])

    def before_epoch(self, r):
        self.sched.step()


class Rows(Hook):
    """Collects the columns of one row per epoch."""

    def __init__(self):
        self.sum, self.cnt, self.row, self.table = 0.0, 0, {}, []

    def before_epoch(self, r):
        self.sum, self.cnt = 0.0, 0
        self.row["epoch"] = r.epoch
        self.row["lr"] = r.opt.param_groups[0]["lr"]

    def after_step(self, r, loss, k):
        self.sum += loss.item() * k
        self.cnt += k

    def after_epoch(self, r):
        self.row.setdefault("loss", self.sum / self.cnt)
        self.row["val"] = r.validate()
        self.table.append(dict(self.row))
        print("  ".join(f"{k} {v:.4f}" if isinstance(v, float) else f"{k} {v}" for k, v in self.row.items()))


class Runner:
    def __init__(self, net, opt, data, val, hooks=()):
        self.net, self.opt, self.data, self.val = net, opt, data, val
        self.hooks, self.epoch = list(hooks), 0

    def fire(self, name, *a):
        for h in self.hooks:
            getattr(h, name)(self, *a)

    def validate(self):
        self.net.eval()
        with torch.no_grad():
            x, y = self.val
            out = F.mse_loss(self.net(x), y).item()
        self.net.train()
        return out

    def fit(self, epochs, bs):
        x, y = self.data
        for self.epoch in range(epochs):
            self.fire("before_epoch")
            for ix in torch.randperm(len(x)).split(bs):
                loss = F.mse_loss(self.net(x[ix]), y[ix])
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                self.fire("after_step", loss, len(ix))
            self.fire("after_epoch")


def kinematics(n):
    q = (torch.rand(n, 3) - 0.5) * 4
    s = q.cumsum(1)
    return q, torch.stack([s.cos().sum(1), s.sin().sum(1)], 1) + 0.05 * torch.randn(n, 2)


if __name__ == "__main__":
    torch.manual_seed(28)
    net = nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
    opt = torch.optim.SGD(net.parameters(), lr=0.04, momentum=0.9)
    plan = Plan(opt, [1.0, 1.0, 0.05, 0.01])
    Runner(net, opt, kinematics(2000), kinematics(600), [plan, Rows()]).fit(4, 40)
