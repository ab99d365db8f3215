"""4-fold CV; each fold: fresh model, no-decay groups, warmup+cosine per step, then weight averaging (SWA)."""
import argparse
import statistics

import torch
from torch import nn
from torch.optim import swa_utils
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR
from torch.utils.data import DataLoader, Subset, TensorDataset


def table(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 12, generator=g) * torch.linspace(0.2, 6, 12) + 3
    z = (x - 3) / torch.linspace(0.2, 6, 12)
    y = ((z[:, 0] * z[:, 1] + z[:, 2]).sign() * (z[:, 3] + 0.4)).gt(0).long()
    return TensorDataset(x, y)


class Scaler(nn.Module):
    def __init__(self, x):
        super().__init__()
        self.register_buffer("mu", x.mean(0))
        self.register_buffer("sd", x.std(0))

    def forward(self, x):
        return (x - self.mu) / self.sd


def build(x):
    return nn.Sequential(Scaler(x), nn.Linear(12, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.1),
                         nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 2))


def no_decay_groups(model, wd):
    bucket = {True: [], False: []}
    for module in model.modules():
        for name, p in module.named_parameters(recurse=False):
            bucket[isinstance(module, nn.Linear) and name == "weight"].append(p)
    return [{"params": bucket[True], "weight_decay": wd}, {"params": bucket[False], "weight_decay": 0.0}]


@torch.inference_mode()
def accuracy(model, loader):
    model.eval()
    hits = total = 0
    for x, y in loader:
        hits += int((model(x).argmax(1) == y).sum())
        total += len(y)
    return hits / total


def fold(ds, tr, va, a):
    x_tr = ds.tensors[0][tr]
    train = DataLoader(Subset(ds, tr), batch_size=a.batch, shuffle=True, drop_last=True)
    val = DataLoader(Subset(ds, va), batch_size=256)
    model = build(x_tr)
    opt = torch.optim.AdamW(no_decay_groups(model, a.wd), lr=a.lr)
    steps, warm = a.epochs * len(train), 20
    sched = SequentialLR(opt, [LinearLR(opt, 0.1, total_iters=warm), CosineAnnealingLR(opt, steps - warm)], [warm])
    average = swa_utils.AveragedModel(model)
    crit = nn.CrossEntropyLoss(label_smoothing=0.05)
    for epoch in range(a.epochs + a.swa):
        model.train()
        for x, y in train:
            loss = crit(model(x), y)
            loss.backward()
            opt.step()
            opt.zero_grad()
            if epoch < a.epochs:
                sched.step()
        if epoch + 1 == a.epochs:
            for group in opt.param_groups:
                group["lr"] = a.swa_lr
        if epoch >= a.epochs:
            average.update_parameters(model)
    swa_utils.update_bn(train, average)
    return accuracy(model, val), accuracy(average, val)


def main():
    ap = argparse.ArgumentParser()
    for name, default in dict(folds=4, epochs=8, swa=4, batch=32, seed=0).items():
        ap.add_argument(f"--{name}", type=int, default=default)
    for name, default in dict(lr=4e-3, swa_lr=1e-3, wd=0.02).items():
        ap.add_argument(f"--{name}", type=float, default=default)
    a = ap.parse_args()
    ds = table(1000, a.seed)
    parts = torch.randperm(len(ds), generator=torch.Generator().manual_seed(a.seed)).chunk(a.folds)
    out = []
    for k in range(a.folds):
        torch.manual_seed(a.seed + k)
        tr = torch.cat([p for j, p in enumerate(parts) if j != k])
        out.append(fold(ds, tr, parts[k], a))
        print(f"fold {k}: last {out[-1][0]:.4f} averaged {out[-1][1]:.4f}")
    for name, vals in zip(("last", "averaged"), zip(*out)):
        print(f"{name}: {statistics.mean(vals):.4f} +- {statistics.stdev(vals):.4f}")


if __name__ == "__main__":
    main()
