"""Fraud detection on imbalanced rows, in the style of a small 'module + fitter' framework."""
import math
import torch
from torch import nn
import torch.nn.functional as F


class FraudModule(nn.Module):
    def __init__(self, d, epochs, lr=0.15):
        super().__init__()
        self.epochs, self.lr = epochs, lr
        self.body = nn.Sequential(nn.Linear(d, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU())
        self.out = nn.Linear(128, 2)

    def forward(self, x):
        return self.out(self.body(x))

    def training_step(self, batch):
        return F.cross_entropy(self(batch[0]), batch[1])

    def configure(self):
        opt = torch.optim.SGD(self.parameters(), lr=self.lr, momentum=0.9)
        sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=self.epochs)
        return {"optimizer": opt, "scheduler": sched, "interval": "step"}


class Fitter:
    def __init__(self, bs):
        self.bs = bs
        self.rates = []

    def fit(self, mod, x, y, val):
        c = mod.configure()
        opt, sched, unit = c["optimizer"], c["scheduler"], c["interval"]
        for e in range(mod.epochs):
            mod.train()
            s = 0.0
            for ix in torch.randperm(len(y)).split(self.bs):
                self.rates.append(opt.param_groups[0]["lr"])
                loss = mod.training_step((x[ix], y[ix]))
                opt.zero_grad()
                loss.backward()
                opt.step()
                s += loss.item() * len(ix)
                if unit == "step":
                    sched.step()
            if unit == "epoch":
                sched.step()
            if e % 3 == 2:
                print(f"epoch {e} loss {s / len(y):.4f} lr {sched.get_last_lr()[0]:.4f} val recall/acc {self.judge(mod, *val)}")
        turns = sum((b - a) * (c - b) < 0 for a, b, c in zip(self.rates, self.rates[1:], self.rates[2:]))
        print("times the rate turned:", turns)

    @torch.no_grad()
    def judge(self, mod, x, y):
        mod.eval()
        hit = mod(x).argmax(1) == y
        return round(hit[y == 1].float().mean().item(), 4), round(hit.float().mean().item(), 4)


def rows(n, g):
    x = torch.randn(n, 20, generator=g)
    z = x[:, :3].sum(1) + 1.2 * torch.randn(n, generator=g)
    return x, (z > 2.9).long()


def balance(ids, y, g):
    """Draws the rare class until both are equally many."""
    pos, neg = ids[y[ids] == 1], ids[y[ids] == 0]
    return torch.cat([neg, pos[torch.randint(0, len(pos), (len(neg),), generator=g)]])


def split(y, g, share=0.25):
    ids = balance(torch.arange(len(y)), y, g)
    ids = ids[torch.randperm(len(ids), generator=g)]
    cut = int(len(ids) * share)
    return ids[cut:], ids[:cut]


def main():
    torch.manual_seed(33)
    g = torch.Generator().manual_seed(33)
    x, y = rows(2400, g)
    tr, va = split(y, g)
    print("val rows that are also trained on: %.3f" % torch.isin(va, tr).float().mean().item())
    mod = FraudModule(20, epochs=15)
    Fitter(64).fit(mod, x[tr], y[tr], (x[va], y[va]))
    xn, yn = rows(4000, g)
    print("next month recall/acc", Fitter.judge(None, mod, xn, yn))


main()
