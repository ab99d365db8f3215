"""Siamese network: do two noisy views show the same prototype?"""
import random
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

OPTIONS = dict(seed=17, epochs=10, lr=2e-3, batch=50, dim=24, hidden=32)


def seed_all(s):
    random.seed(s)
    np.random.seed(s)
    torch.manual_seed(s)


def pairs(n, bank):
    i = torch.randint(0, len(bank), (n,))
    same = torch.rand(n) < 0.5
    j = torch.where(same, i, (i + torch.randint(1, len(bank), (n,))) % len(bank))
    mix = lambda k: bank[k] + 0.6 * torch.randn(n, bank.shape[1])
    return TensorDataset(mix(i), mix(j), same.float())


class Siamese(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Dropout(0.1), nn.Linear(hidden, hidden))
        self.head = nn.Sequential(nn.Linear(hidden, 16), nn.ReLU(), nn.Linear(16, 1))

    def embed(self, x):
        z = self.encoder(x)
        return z / z.norm(dim=1, keepdim=True)

    def forward(self, a, b):
        return self.head((self.embed(a) - self.embed(b)).abs() * 3).squeeze(1)


def run(o):
    seed_all(o["seed"])
    bank = torch.randn(12, o["dim"])
    train = DataLoader(pairs(1000, bank), batch_size=o["batch"], shuffle=True)
    test = DataLoader(pairs(500, bank), batch_size=100)
    net = Siamese(o["dim"], o["hidden"])
    opt = torch.optim.Adam(net.parameters(), lr=o["lr"])
    crit = nn.BCEWithLogitsLoss()
    for epoch in range(o["epochs"]):
        net.train()
        tot = 0.0
        for k, (a, b, t) in enumerate(train):
            opt.zero_grad()
            loss = crit(net(a, b), t)
            loss.backward()
            opt.step()
            tot += loss.item() * len(t)
        net.eval()
        hit = 0
        with torch.no_grad():
            for a, b, t in test:
                hit += ((net(a, b) > 0).float() == t).sum().item()
        print(f"epoch {epoch} loss {tot / len(train.dataset):.4f} test acc {hit / len(test.dataset):.4f}")


if __name__ == "__main__":
    run(OPTIONS)
