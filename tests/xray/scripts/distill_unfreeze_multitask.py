"""Student with a borrowed, gradually unfrozen trunk; distillation, two tasks, learnt task weights."""
import copy
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


@dataclass(frozen=True)
class Opts:
    temperature: float = 3.0
    alpha: float = 0.6
    unfreeze_at: int = 3
    epochs: int = 8
    seed: int = 8


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(16, width), nn.BatchNorm1d(width), nn.ReLU(),
                                   nn.Linear(width, 32), nn.BatchNorm1d(32), nn.ReLU())
        self.cls, self.reg = nn.Linear(32, 5), nn.Linear(32, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.cls(h), self.reg(h).squeeze(1)


class Uncertainty(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.s = nn.Parameter(torch.zeros(n))

    def forward(self, losses):
        return (torch.stack(losses) * (-self.s).exp() + self.s).sum()


W = torch.randn(16, 5, generator=torch.Generator().manual_seed(0))


def data(n, g):
    x = torch.randn(n, 16, generator=g)
    h = torch.sin(0.35 * (x @ W))
    return TensorDataset(x, h.argmax(1), h.sum(1) + 0.1 * torch.randn(n, generator=g))


def pretrain(net, loader):
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for _ in range(6):
        net.train()
        for x, y, r in loader:
            logit, reg = net(x)
            opt.zero_grad()
            (F.cross_entropy(logit, y) + F.mse_loss(reg, r)).backward()
            opt.step()
    return net.eval().requires_grad_(False)


def evaluate(net, ds):
    was = {m: m.training for m in net.modules()}
    net.eval()
    with torch.no_grad():
        x, y, r = ds.tensors
        logit, reg = net(x)
        res = (logit.argmax(1) == y).float().mean().item(), F.mse_loss(reg, r).item()
    for m, flag in was.items():
        m.training = flag
    return res


def main(o=Opts()):
    torch.manual_seed(o.seed)
    g = torch.Generator().manual_seed(o.seed)
    train, val = data(3000, g), data(1000, g)
    loader = DataLoader(train, batch_size=64, shuffle=True, drop_last=True)
    teacher = pretrain(Net(128), loader)
    student = Net(128)
    student.trunk = copy.deepcopy(teacher.trunk)          # frozen copy to begin with
    mix = Uncertainty(2)
    opt = torch.optim.AdamW([
        {"params": [*student.cls.parameters(), *student.reg.parameters()], "lr": 3e-3},
        {"params": mix.parameters(), "lr": 1e-2, "weight_decay": 0.0},
    ])
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode="max", factor=0.5, patience=1)
    for epoch in range(o.epochs):
        if epoch == o.unfreeze_at:
            student.trunk.requires_grad_(True)
            opt.add_param_group({"params": student.trunk.parameters(), "lr": 3e-4})
            plateau.min_lrs.append(0.0)
        student.train()
        student.trunk.eval()                              # keep the teacher's statistics
        for x, y, r in loader:
            with torch.no_grad():
                t_logit, _ = teacher(x)
            logit, reg = student(x)
            soft = F.kl_div(F.log_softmax(logit / o.temperature, 1), F.softmax(t_logit / o.temperature, 1),
                            reduction="batchmean") * o.temperature ** 2
            cls = o.alpha * soft + (1 - o.alpha) * F.cross_entropy(logit, y)
            loss = mix([cls, F.mse_loss(reg, r)])
            loss.backward()
            opt.step()
            opt.zero_grad()
        acc, mse = evaluate(student, val)
        plateau.step(acc)
        print(f"{epoch} acc {acc:.4f} mse {mse:.4f} lrs {[gr['lr'] for gr in opt.param_groups]}")
    print("teacher", evaluate(teacher, val))


if __name__ == "__main__":
    main()
