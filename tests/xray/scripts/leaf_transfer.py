"""Pre-train on 10 coarse leaf shapes, then tune to 4 diseases with a new head."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset


class Leaves(Dataset):
    """Jitters each leaf a little when asked to (numpy augmentations)."""

    def __init__(self, x, y, jitter=0.0):
        self.x, self.y, self.jitter = x, y, jitter
        self.rng = np.random.default_rng(7)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        noise = self.rng.normal(0.0, self.jitter, self.x.shape[1:]).astype(np.float32)
        return self.x[i] + torch.from_numpy(noise), self.y[i]


class LeafNet(nn.Module):
    def __init__(self, n_out):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv1d(1, 12, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2),
                                  nn.Conv1d(12, 16, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool1d(6), nn.Flatten())
        self.head = nn.Linear(96, n_out)

    def forward(self, x):
        return self.head(self.stem(x))

    def relabel(self, n_out):
        self.head = nn.Linear(self.head.in_features, n_out)
        return self


class Tuner:
    def __init__(self, net, slow, fast):
        self.net = net
        self.ce = nn.CrossEntropyLoss()
        self.opt = self._optimizer(slow, fast)

    def _optimizer(self, slow, fast):
        return torch.optim.SGD([{"params": self.net.stem.parameters(), "lr": slow},
                                {"params": self.net.head.parameters(), "lr": fast}], lr=slow, momentum=0.9)

    def fit(self, loader, epochs, classes=None):
        if classes is not None:
            self.net.relabel(classes)
        self.net.train()
        for _ in range(epochs):
            s = n = 0
            for x, y in loader:
                self.opt.zero_grad()
                loss = self.ce(self.net(x), y)
                loss.backward()
                self.opt.step()
                s, n = s + loss.item() * len(y), n + len(y)
            print(f"   loss {s / n:.4f}")
        return self

    @torch.no_grad()
    def accuracy(self, x, y):
        self.net.eval()
        return (self.net(x).argmax(1) == y).float().mean().item()


def curves(n, k, gen, base):
    y = torch.randint(0, k, (n,), generator=gen)
    return (base[y] + 0.7 * torch.randn(n, base.shape[1], generator=gen)).unsqueeze(1), y


def main():
    torch.manual_seed(2)
    gen = torch.Generator().manual_seed(2)
    coarse, fine = torch.randn(10, 32, generator=gen), torch.randn(4, 32, generator=gen)
    xa, ya = curves(1000, 10, gen, coarse)
    net = LeafNet(10)
    Tuner(net, 0.05, 0.05).fit(DataLoader(TensorDataset(xa, ya), batch_size=50, shuffle=True), 3)

    xb, yb = curves(320, 4, gen, fine)
    xt, yt = curves(600, 4, gen, fine)
    loader = DataLoader(Leaves(xb, yb, jitter=0.5), batch_size=32, shuffle=True, num_workers=2)
    tuner = Tuner(net, 0.001, 0.05).fit(loader, 5, classes=4)
    print(f"disease accuracy {tuner.accuracy(xt, yt):.3f}")


if __name__ == "__main__":
    main()
