from __future__ import annotations
import dataclasses
from dataclasses import dataclass
import torch
import torch.nn.functional as F
from torch import nn, Tensor


@dataclass(frozen=True)
class Images:
    pixels: Tensor
    labels: Tensor
    augment: bool = False
    batch: int = 50
    shuffle: bool = False

    def __len__(self):
        return len(self.labels)

    def __iter__(self):
        order = torch.randperm(len(self)) if self.shuffle else torch.arange(len(self))
        for ids in order.split(self.batch):
            x = self.pixels[ids]
            if self.augment:
                x = self._distort(x)
            yield x, self.labels[ids]

    @staticmethod
    def _distort(x):
        hole = (torch.rand(len(x), 1, 8, 8) < 0.3).float()
        return x * (1 - hole) + 0.3 * torch.randn_like(x)


def draw(n: int) -> tuple[Tensor, Tensor]:
    y = torch.randint(4, (n,))
    x = 0.7 * torch.randn(n, 1, 8, 8)
    for i, c in enumerate(y.tolist()):
        if c == 0:
            x[i, 0, torch.randint(8, (1,))] += 1.4
        elif c == 1:
            x[i, 0, :, torch.randint(8, (1,))] += 1.4
        elif c == 2:
            x[i, 0].diagonal().add_(1.4)
        else:
            x[i, 0].flip(1).diagonal().add_(1.4)
    return x, y


def divide(data: Images, part: float) -> tuple[Images, Images]:
    order = torch.randperm(len(data))
    cut = int(len(data) * part)
    a, b = order[:cut], order[cut:]
    train = dataclasses.replace(data, pixels=data.pixels[a], labels=data.labels[a], shuffle=True)
    rest = dataclasses.replace(data, pixels=data.pixels[b], labels=data.labels[b])
    return train, rest


def predict(net: nn.Module, data: Images) -> Tensor:
    net.eval()
    with torch.no_grad():
        outs = (net(x) for x, _ in data)
    return torch.cat(list(outs))


def train_epoch(net: nn.Module, data: Images, opt) -> float:
    net.train()
    total = 0.0
    for x, y in data:
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        total += loss.item() * len(y)
    return total / len(data)


torch.manual_seed(17)
everything = Images(*draw(900), augment=True)
train, val = divide(everything, 2 / 3)
net = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 24, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(24 * 16, 4),
)
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(12):
    tr = train_epoch(net, train, opt)
    logits = predict(net, val)
    acc = (logits.argmax(1) == val.labels).float().mean().item()
    print(f"[{epoch:02d}] train {tr:.3f}  val acc {acc:.3f}")
carries_graph = logits.requires_grad
