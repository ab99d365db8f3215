# multi-task learning, Kendall-style uncertainty weighting (regression + classification)
import argparse
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def get_args():
    ap = argparse.ArgumentParser()
    ap.add_argument("--lr", default=3e-3, type=float)
    ap.add_argument("--l1", default=1e-3, type=float)
    ap.add_argument("--epochs", default=5, type=int)
    ap.add_argument("--wd", default=0.0, type=float)
    return ap.parse_args()


class HouseData(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        wg = torch.Generator().manual_seed(77)
        self.x = torch.randn(n, 15, generator=g)
        w = torch.randn(15, generator=wg)
        v = torch.randn(15, 3, generator=wg)
        self.price = (2.0 * self.x @ w / 4 + 0.3 * torch.randn(n, generator=g)).unsqueeze(1)
        self.kind = (self.x @ v).argmax(1)

    def __getitem__(self, i):
        return {"x": self.x[i], "price": self.price[i], "kind": self.kind[i]}

    def __len__(self):
        return len(self.x)


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(15, 48), nn.ReLU(), nn.Linear(48, 32), nn.ReLU())
        self.reg = nn.Linear(32, 1)
        self.cls = nn.Linear(32, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.reg(h), self.cls(h)


class UncertaintyLoss(nn.Module):
    def __init__(self, n_tasks=2):
        super().__init__()
        self.log_vars = nn.Parameter(torch.zeros(n_tasks))

    def forward(self, losses):
        return sum(torch.exp(-s) * l + s for s, l in zip(self.log_vars, losses))


def run(args):
    torch.manual_seed(17)
    train_dl = DataLoader(HouseData(512, 1), batch_size=64, shuffle=True)
    valid_dl = DataLoader(HouseData(256, 2), batch_size=128)
    model, weighting = MultiTask(), UncertaintyLoss()
    mse, ce = nn.MSELoss(), nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(
        list(model.parameters()) + list(weighting.parameters()), lr=args.lr, weight_decay=args.wd)

    for epoch in range(args.epochs):
        model.train()
        tot = 0.0
        for batch in train_dl:
            pred_price, pred_kind = model(batch["x"])
            l_reg = mse(pred_price, batch["price"])
            l_cls = ce(pred_kind, batch["kind"])
            penalty = sum(p.abs().sum() for p in model.trunk.parameters())
            loss = weighting([l_reg, l_cls]) + args.l1 * penalty
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            tot += loss.item() * len(batch["x"])
        model.eval()
        se = hit = n = 0
        with torch.no_grad():
            for batch in valid_dl:
                a, b = model(batch["x"])
                se += ((a - batch["price"]) ** 2).sum().item()
                hit += (b.argmax(1) == batch["kind"]).sum().item()
                n += len(a)
        print(f"{epoch}: loss {tot / 512:.4f} val mse {se / n:.4f} acc {hit / n:.4f} log_vars {weighting.log_vars.detach().tolist()}")


if __name__ == "__main__":
    run(get_args())
