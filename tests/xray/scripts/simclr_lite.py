import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class TwoViews(Dataset):
    def __init__(self, n=384):
        g = torch.Generator().manual_seed(5)
        centers = torch.randn(6, 20, generator=g) * 2
        self.y = torch.randint(6, (n,), generator=g)
        self.x = centers[self.y] + 0.5 * torch.randn(n, 20, generator=g)

    def __len__(self):
        return len(self.x)

    def view(self, row):
        noise = np.random.randn(20).astype("float32") * 0.4
        keep = (np.random.rand(20) > 0.15).astype("float32")
        return row * torch.from_numpy(keep) + torch.from_numpy(noise)

    def __getitem__(self, i):
        return self.view(self.x[i]), self.view(self.x[i])


def init_worker(worker_id):
    np.random.seed(1234)


class Encoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, x):
        h = self.net(x)
        return self.projector(h) if hasattr(self, "projector") else h


def nt_xent(a, b, tau):
    z = F.normalize(torch.cat([a, b]), dim=1)
    sim = z @ z.t() / tau
    sim.fill_diagonal_(float("-inf"))
    n = len(a)
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, target)


class Trainer:
    def __init__(self, args):
        self.args = args
        self.model = Encoder()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr, momentum=0.9)
        self.model.projector = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 16))

    def fit(self, loader):
        for epoch in range(self.args.epochs):
            self.model.train()
            losses = []
            for a, b in loader:
                loss = nt_xent(self.model(a), self.model(b), self.args.tau)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                losses.append(loss.item())
            print(f"epoch {epoch} nt-xent {np.mean(losses):.4f}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--tau", type=float, default=0.2)
    args = p.parse_args()
    torch.manual_seed(0)
    loader = DataLoader(TwoViews(), batch_size=48, shuffle=True, num_workers=2, worker_init_fn=init_worker, drop_last=True)
    Trainer(args).fit(loader)


if __name__ == "__main__":
    main()
