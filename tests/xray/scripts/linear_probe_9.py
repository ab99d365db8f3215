"""Contrastive pre-training of a body, then a linear probe: the body is frozen on purpose."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Probe(nn.Module):
    def __init__(self, body, dim, n_classes):
        super().__init__()
        self.body = body
        self.fc = nn.Linear(dim, n_classes)
        for p in self.body.parameters():
            p.requires_grad_(False)

    def train(self, mode=True):
        super().train(mode)
        self.body.eval()  # the frozen body keeps its statistics
        return self

    def forward(self, x):
        with torch.no_grad():
            feats = self.body(x)
        return self.fc(feats)


def batch_of(n, g):
    y = torch.randint(0, 4, (n,), generator=g)
    proto = torch.randn(4, 32, generator=torch.Generator().manual_seed(3))
    return proto[y] + 0.7 * torch.randn(n, 32, generator=g), y


def jitter(x):
    return x + 0.5 * torch.randn_like(x)


def info_nce(a, b, tau=0.2):
    a, b = F.normalize(a, dim=1), F.normalize(b, dim=1)
    logits = a @ b.T / tau
    target = torch.arange(len(a))
    return 0.5 * (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--pretrain-epochs", type=int, default=4)
    ap.add_argument("--probe-epochs", type=int, default=6)
    args = ap.parse_args()
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(1)
    x, y = batch_of(960, g)
    xt, yt = batch_of(300, g)
    body = nn.Sequential(nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 24))
    projector = nn.Linear(24, 16)

    opt = torch.optim.Adam([*body.parameters(), *projector.parameters()], lr=2e-3)
    pre_loader = DataLoader(TensorDataset(x), batch_size=96, shuffle=True)
    body.train()
    for epoch in range(args.pretrain_epochs):
        total = 0.0
        for (xb,) in pre_loader:
            loss = info_nce(projector(body(jitter(xb))), projector(body(jitter(xb))))
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"pretrain {epoch} nce {total / len(pre_loader):.4f}")

    model = Probe(body, 24, 4)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1, momentum=0.9)
    loader = DataLoader(TensorDataset(x[:160], y[:160]), batch_size=20, shuffle=True)
    for epoch in range(args.probe_epochs):
        model.train()
        total = 0.0
        for xb, yb in loader:
            loss = F.cross_entropy(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            acc = (model(xt).argmax(1) == yt).float().mean().item()
        print(f"probe {epoch} loss {total / len(loader):.4f} acc {acc:.4f}")


if __name__ == "__main__":
    main()
