import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset

DEFAULTS = dict(n=640, dim=30, classes=4, bs=80, lr=0.05, epochs=5, hidden=40)


def make_loaders(cfg):
    g = torch.Generator().manual_seed(31)
    mix = torch.randn(cfg["dim"], cfg["classes"], generator=g)

    def split(n):
        x = torch.randn(n, cfg["dim"], generator=g)
        y = (x @ mix + 1.0 * torch.randn(n, cfg["classes"], generator=g)).argmax(1)
        return TensorDataset(x, y)

    return (DataLoader(split(cfg["n"]), batch_size=cfg["bs"], shuffle=True),
            DataLoader(split(cfg["n"] // 2), batch_size=cfg["bs"]))


def create(cfg):
    model = nn.Sequential(
        nn.Linear(cfg["dim"], cfg["hidden"]), nn.BatchNorm1d(cfg["hidden"]), nn.ReLU(),
        nn.Linear(cfg["hidden"], cfg["classes"]))
    opt = optim.SGD(model.parameters(), lr=cfg["lr"], momentum=0.9, nesterov=True, weight_decay=1e-4)
    sched = lr_scheduler.CosineAnnealingLR(opt, T_max=cfg["epochs"])
    return model, opt, sched


def fit(cfg, model, opt, sched, train_dl, valid_dl):
    lrs = []

    def one_batch(xb, yb):
        opt.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        opt.step()
        lrs.append(opt.param_groups[0]["lr"])
        return loss.item(), len(xb)

    def validate():
        model.eval()
        with torch.no_grad():
            res = [(F.cross_entropy(model(xb), yb, reduction="sum").item(),
                    (model(xb).argmax(1) == yb).sum().item(), len(xb)) for xb, yb in valid_dl]
        ls, ok, n = map(sum, zip(*res))
        return ls / n, ok / n

    for epoch in range(cfg["epochs"]):
        model.train()
        stats = [one_batch(xb, yb) for xb, yb in train_dl]
        sched.step()
        avg = sum(l * k for l, k in stats) / sum(k for _, k in stats)
        vl, va = validate()
        print("epoch {:d} train {:.4f} valid {:.4f} acc {:.4f} lr min {:.4f} max {:.4f}".format(
            epoch, avg, vl, va, min(lrs), max(lrs)))


def main(**overrides):
    cfg = {**DEFAULTS, **overrides}
    torch.manual_seed(0)
    train_dl, valid_dl = make_loaders(cfg)
    fit(cfg, *create(cfg), train_dl, valid_dl)


if __name__ == "__main__":
    main()
