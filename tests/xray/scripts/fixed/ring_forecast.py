"""전력 수요 예측: 고정 버퍼를 쓰는 간단한 윈도우 로더"""
import random

import torch
from torch import nn


def demand(n, gen):
    t = torch.arange(n, dtype=torch.float32)
    base = torch.sin(t * 0.26) + 0.6 * torch.sin(t * 0.071 + 1.0) + 0.4 * torch.sin(t * 0.9)
    return base + 0.1 * torch.randn(n, generator=gen)


class WindowReader:
    """Fills fixed buffers batch by batch (no allocation in the hot loop)."""

    def __init__(self, series, past, ahead, batch):
        self.s, self.past, self.ahead, self.batch = series, past, ahead, batch
        self.bx = torch.empty(batch, past)
        self.by = torch.empty(batch, ahead)
        self.starts = torch.arange(len(series) - past - ahead)

    def __len__(self):
        return len(self.starts) // self.batch

    def __iter__(self):
        pick = self.starts[torch.randperm(len(self.starts))]
        for i in range(len(self)):
            st = pick[i * self.batch:(i + 1) * self.batch]
            self.bx.copy_(self.s[st[:, None] + torch.arange(self.past)])
            self.by.copy_(self.s[st[:, None] + self.past + torch.arange(self.ahead)])
            yield self.bx.clone(), self.by.clone()


class Forecaster(nn.Module):
    def __init__(self, past, ahead, hidden=48):
        super().__init__()
        self.l1, self.l2 = nn.Linear(past, hidden), nn.Linear(hidden, ahead)

    def forward(self, x):
        return 2.5 * torch.tanh(self.l2(torch.tanh(self.l1(x))))


def horizon_loss(pred, y):
    w = torch.linspace(1.2, 0.8, pred.shape[1])
    return torch.einsum("bh,h->", (pred - y) ** 2, w / w.sum()) / len(y)


def main(past=24, ahead=6, epochs=40, lr=0.1):
    random.seed(6)
    torch.manual_seed(6)
    gen = torch.Generator().manual_seed(6)
    series = demand(900, gen)
    reader = WindowReader(series[:700], past, ahead, 32)
    valid = WindowReader(series[700:], past, ahead, 32)
    net = Forecaster(past, ahead)
    opt = torch.optim.SGD(net.parameters(), lr=lr)
    for ep in range(epochs):
        net.train()
        todo = list(reader)            # prefetch the whole epoch
        random.shuffle(todo)
        acc = 0.0
        for x, y in todo:
            opt.zero_grad()
            loss = horizon_loss(net(x), y)
            loss.backward()
            opt.step()
            acc += loss.item()
        if ep % 5 == 4:
            net.eval()
            se = n = 0
            with torch.no_grad():
                for x, y in valid:
                    se += (net(x) - y).square().sum().item()
                    n += y.numel()
            print(f"epoch {ep:2d} loss {acc / len(todo):.4f} val mse {se / n:.4f}")


main()
