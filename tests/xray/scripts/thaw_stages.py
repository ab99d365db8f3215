"""Gradual unfreezing: stages join the optimizer as a new group when their time comes."""
import torch
from torch import nn
import torch.nn.functional as F

STAGES = {0: ["head"], 3: ["late"], 6: ["early"]}


class Net(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.early = nn.Sequential(nn.Linear(20, 48), nn.ReLU())
        self.late = nn.Sequential(nn.Linear(48, 32), nn.ReLU())
        self.head = nn.Linear(32, k)

    def forward(self, x):
        return self.head(self.late(self.early(x)))


def sets(n, k, seed):
    g = torch.Generator().manual_seed(seed)
    c = torch.randn(k, 20, generator=torch.Generator().manual_seed(1000 + k))
    y = torch.randint(0, k, (n,), generator=g)
    return c[y] + torch.randn(n, 20, generator=g), y


def epoch(net, opt, x, y):
    tot = 0.0
    for ix in torch.randperm(len(y)).split(40):
        loss = F.cross_entropy(net(x[ix]), y[ix])
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(ix)
    return tot / len(y)


def main():
    torch.manual_seed(7)
    net = Net(12)
    x, y = sets(1200, 12, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for _ in range(3):
        epoch(net, opt, x, y)

    net.head = nn.Linear(32, 4)                      # new task, new head, new optimizer
    net.requires_grad_(False)
    x, y = sets(500, 4, 2)
    xt, yt = sets(500, 4, 3)
    opt = None
    for e in range(9):
        for name in STAGES.get(e, []):
            ps = list(getattr(net, name).requires_grad_(True).parameters())
            lr = 0.05 * 0.5 ** (0 if opt is None else len(opt.param_groups))
            if opt is None:
                opt = torch.optim.SGD(ps, lr=lr, momentum=0.9)
            else:
                opt.add_param_group({"params": ps, "lr": lr})
        loss = epoch(net, opt, x, y)
        with torch.no_grad():
            acc = (net(xt).argmax(1) == yt).float().mean().item()
        live = sum(p.requires_grad for p in net.parameters())
        print(f"epoch {e} live {live} groups {len(opt.param_groups)} loss {loss:.4f} acc {acc:.3f}")


main()
