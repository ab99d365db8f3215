import copy

import torch
from torch import nn
from torch.nn import functional as F


class AdapterBlock(nn.Module):
    """Block with a bottleneck adapter whose width follows the input."""

    def __init__(self, dim, ratio=2):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.ratio = ratio
        self.register_buffer("scale", torch.tensor(0.02))

    def add_adapter(self):
        d = self.fc.in_features
        self.down = nn.Linear(d, d // self.ratio)
        self.up = nn.Linear(d // self.ratio, d)

    def forward(self, x):
        h = F.relu(self.fc(x)) * self.scale
        if hasattr(self, "down"):
            h = h + self.up(torch.tanh(self.down(x)))
        return x + h


class Net(nn.Module):
    def __init__(self, dim=20, depth=2, out=5):
        super().__init__()
        self.blocks = nn.ModuleList([AdapterBlock(dim) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, out)

    def forward(self, x):
        for b in self.blocks:
            x = b(x)
        return self.head(self.norm(x))


class ModelEMA:
    def __init__(self, model, decay=0.9):
        self.module = copy.deepcopy(model).eval()
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for e, m in zip(self.module.state_dict().values(), model.state_dict().values()):
            e.copy_(e * self.decay + m * (1 - self.decay))


def batches(x, y, size, gen):
    for idx in torch.randperm(len(x), generator=gen).split(size):
        yield x[idx], y[idx]


def main(epochs=12, lr=1e-2):
    torch.manual_seed(2)
    gen = torch.Generator().manual_seed(2)
    x = torch.randn(900, 20)
    y = x[:, :5].abs().argmax(1)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    for b in net.blocks:
        b.add_adapter()
    ema = ModelEMA(net)
    for epoch in range(epochs):
        net.train()
        for xb, yb in batches(x[:700], y[:700], 35, gen):
            loss = F.cross_entropy(net(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            ema.update(net)
            optimizer.step()
        with torch.no_grad():
            logits = ema.module(x[700:])
        print(f"epoch {epoch} loss {loss.item():.4f} ema val loss {F.cross_entropy(logits, y[700:]).item():.4f} "
              f"acc {(logits.argmax(1) == y[700:]).float().mean().item():.4f}")


if __name__ == "__main__":
    main()
