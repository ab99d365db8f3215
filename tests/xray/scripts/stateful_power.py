"""Power demand forecast with a stateful LSTM: the windows come in time order and the state is carried on."""
import math

import torch
import torch.nn as nn


def demand(hours, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(hours, dtype=torch.float32)
    day, week = torch.sin(2 * math.pi * t / 24), torch.sin(2 * math.pi * t / 168)
    slow = torch.cumsum(0.02 * torch.randn(hours, generator=g), 0)
    return day + 0.5 * week * day + 0.1 * slow + 0.05 * torch.randn(hours, generator=g)


class Forecaster(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x, state=None):
        h, state = self.lstm(x, state)
        return self.out(h).squeeze(-1), state


def windows(series, n_streams, steps):
    # n_streams 개의 연속 구간을 나란히 읽는다
    length = (len(series) - 1) // n_streams
    xs = series[:n_streams * length].view(n_streams, length)
    ys = series[1:n_streams * length + 1].view(n_streams, length)
    for a in range(0, length, steps):
        yield xs[:, a:a + steps, None], ys[:, a:a + steps]


def train_epoch(model, series, optimizer):
    model.train()
    state, total, count = None, 0.0, 0
    for x, y in windows(series, 8, 24):
        pred, state = model(x, state)
        loss = nn.functional.mse_loss(pred, y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        state = tuple(s.detach() for s in state)
        total += loss.item() * y.numel()
        count += y.numel()
    return total / count


@torch.no_grad()
def evaluate(model, series):
    model.eval()
    pred, _ = model(series[None, :-1, None])
    return (pred[0] - series[1:]).square()[48:].mean().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    train_series, test_series = demand(24 * 200, 0), demand(24 * 40, 1)
    net = Forecaster()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(8):
        tr = train_epoch(net, train_series, opt)
        print(f"epoch {epoch}: train mse {tr:.4f}, test mse {evaluate(net, test_series):.4f}")
