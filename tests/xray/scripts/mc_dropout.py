"""Uncertainty with MC dropout: dropout on in evaluation, on purpose; two loaders, train accuracy is printed too."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def enable_dropout(model):
    for m in model.modules():
        if isinstance(m, nn.Dropout):
            m.train()


@torch.no_grad()
def mc_predict(model, x, n=10):
    model.eval()
    enable_dropout(model)
    probs = torch.stack([model(x).softmax(-1) for _ in range(n)])
    return probs.mean(0), probs.std(0).mean().item()


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    return sum((model(x).argmax(1) == y).sum().item() for x, y in loader) / len(loader.dataset)


def main():
    torch.manual_seed(0)
    x = torch.randn(560, 6)
    y = (x[:, 0] * x[:, 1] > 0).long()
    train_dl = DataLoader(TensorDataset(x[:448], y[:448]), batch_size=32, shuffle=True)
    val_dl = DataLoader(TensorDataset(x[448:], y[448:]), batch_size=56)
    model = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 2))
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(6):
        model.train()
        for xb, yb in train_dl:
            loss = nn.functional.cross_entropy(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"epoch {epoch} train acc {accuracy(model, train_dl):.3f} val acc {accuracy(model, val_dl):.3f}")
    for xb, yb in val_dl:
        mean, spread = mc_predict(model, xb)
        print("mc", (mean.argmax(1) == yb).float().mean().item(), round(spread, 4))


if __name__ == "__main__":
    main()
