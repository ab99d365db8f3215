"""SAM with gradient accumulation for a batch that does not fit."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def perturb(params, rho):
    norm = torch.stack([p.grad.norm() for p in params if p.grad is not None]).norm()
    eps = []
    with torch.no_grad():
        for p in params:
            e = p.grad * (rho / (norm + 1e-12))
            p.add_(e)
            eps.append(e)
    return eps


def restore(params, eps):
    with torch.no_grad():
        for p, e in zip(params, eps):
            p.sub_(e)


def sam_update(model, optimizer, micro_batches, rho):
    params = [p for p in model.parameters() if p.requires_grad]
    n = len(micro_batches)
    optimizer.zero_grad()
    total = 0.0
    for xb, yb in micro_batches:
        loss = F.cross_entropy(model(xb), yb)
        (loss / n).backward()
        total += loss.item() / n
    eps = perturb(params, rho)
    optimizer.zero_grad()
    # 두 번째 gradient: w + eps 에서
    for xb, yb in micro_batches:
        (F.cross_entropy(model(xb), yb) / n).backward()
    restore(params, eps)
    optimizer.step()
    return total


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rho", type=float, default=0.05)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--micro", type=int, default=8)
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--lr", type=float, default=0.1)
    args = ap.parse_args()
    torch.manual_seed(0)
    x = torch.randn(1080, 16)
    teacher = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 5))
    with torch.no_grad():
        y = (4 * teacher(x) + 0.3 * torch.randn(1080, 5)).argmax(1)
    loader = DataLoader(TensorDataset(x[:680], y[:680]), batch_size=args.micro, shuffle=True)
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    for epoch in range(args.epochs):
        window, losses = [], []
        for i, batch in enumerate(loader):
            window.append(batch)
            if (i + 1) % args.accum == 0 or i + 1 == len(loader):
                losses.append(sam_update(model, optimizer, window, args.rho))
                window = []
        with torch.no_grad():
            out = model(x[680:])
        print(f"epoch {epoch} updates {len(losses)} loss {sum(losses) / len(losses):.4f} "
              f"test loss {F.cross_entropy(out, y[680:]).item():.4f} "
              f"acc {(out.argmax(1) == y[680:]).float().mean().item():.4f}")


if __name__ == "__main__":
    main()
