import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

GESTURES = ("swipe", "circle", "zigzag", "tap")


def record(kind, rng, steps=24):
    t = np.linspace(0, 1, steps)
    amp, ph = rng.uniform(0.6, 1.4), rng.uniform(-0.5, 0.5)
    if kind == "swipe":
        path = np.stack([amp * (t + ph), 0.2 * t], 1)
    elif kind == "circle":
        path = amp * np.stack([np.cos(6.28 * t + ph), np.sin(6.28 * t + ph)], 1)
    elif kind == "zigzag":
        path = np.stack([amp * t, 0.5 * amp * np.sign(np.sin(18 * t + ph))], 1)
    else:
        path = amp * np.stack([np.exp(-60 * (t - 0.5 - 0.3 * ph) ** 2), 0 * t], 1)
    return path + 0.25 * rng.standard_normal((steps, 2))


def load_session(per_class, seed):
    """recordings in the order of the session: one gesture after the other"""
    rng = np.random.default_rng(seed)
    xs = [record(g, rng) for g in GESTURES for _ in range(per_class)]
    ys = [k for k in range(len(GESTURES)) for _ in range(per_class)]
    return TensorDataset(torch.tensor(np.stack(xs), dtype=torch.float32), torch.tensor(ys))


class GestureRNN(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.rnn = nn.GRU(2, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, len(GESTURES))

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.fc(out.mean(1))


@torch.no_grad()
def confusion(model, loader):
    model.eval()
    cm = torch.zeros(len(GESTURES), len(GESTURES), dtype=torch.long)
    for x, y in loader:
        for t, p in zip(y, model(x).argmax(1)):
            cm[t, p] += 1
    return cm


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=7)
    p.add_argument("--lr", type=float, default=0.01)
    p.add_argument("--hidden", type=int, default=32)
    a = p.parse_args()
    torch.manual_seed(12)
    train_loader = DataLoader(load_session(90, 1), batch_size=20)
    test_loader = DataLoader(load_session(40, 2), batch_size=80)
    model = GestureRNN(a.hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=a.lr)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(a.epochs):
        model.train()
        losses = []
        for x, y in train_loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        cm = confusion(model, test_loader)
        recall = (cm.diag() / cm.sum(1)).tolist()
        print(f"epoch {epoch} loss {np.mean(losses):.4f} acc {cm.diag().sum().item() / cm.sum().item():.3f} recall",
              " ".join(f"{g}={r:.2f}" for g, r in zip(GESTURES, recall)))


if __name__ == "__main__":
    main()
