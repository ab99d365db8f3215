"""Stateful LSTM on ordered streams (truncated BPTT, no shuffling on purpose), SAM as the update rule."""
import torch
from torch import nn


class SAM:
    """Sharpness-aware step around any base optimizer: climb, second gradient, return, step."""

    def __init__(self, base, rho=0.03):
        self.base, self.rho = base, rho

    @property
    def params(self):
        return [p for g in self.base.param_groups for p in g["params"] if p.grad is not None]

    @torch.no_grad()
    def climb(self):
        norm = torch.stack([p.grad.norm() for p in self.params]).norm() + 1e-12
        self.moved = [(p, p.grad * (self.rho / norm)) for p in self.params]
        for p, e in self.moved:
            p.add_(e)

    @torch.no_grad()
    def descend(self):
        for p, e in self.moved:
            p.sub_(e)
        self.base.step()


def signal(n_streams, length, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n_streams, length, generator=g)
    y = torch.zeros_like(x)
    for t in range(2, length):
        y[:, t] = 0.6 * y[:, t - 1] - 0.3 * y[:, t - 2] + torch.tanh(x[:, t - 1]) + 0.5 * x[:, t]
    return x.unsqueeze(-1), y.unsqueeze(-1)


class Model(nn.Module):
    def __init__(self, h=24):
        super().__init__()
        self.lstm, self.out = nn.LSTM(1, h, batch_first=True), nn.Linear(h, 1)

    def forward(self, x, state=None):
        z, state = self.lstm(x, state)
        return self.out(z), state


def cut(state):
    return tuple(s.detach() for s in state)


def run(model, x, y, window, sam=None, clip=1.0):
    state, total, n = None, 0.0, 0
    for lo in range(0, x.shape[1], window):
        xs, ys = x[:, lo:lo + window], y[:, lo:lo + window]
        if sam is None:
            with torch.no_grad():
                pred, state = model(xs, state)
                loss = nn.functional.mse_loss(pred, ys)
        else:
            entry = state
            sam.base.zero_grad()
            pred, state = model(xs, entry)
            loss = nn.functional.mse_loss(pred, ys)
            loss.backward()
            sam.climb()
            sam.base.zero_grad()
            nn.functional.mse_loss(model(xs, entry)[0], ys).backward()
            nn.utils.clip_grad_norm_(model.parameters(), clip)
            sam.descend()
            state = cut(state)
        total += loss.item() * ys.numel()
        n += ys.numel()
    return total / n


def main():
    torch.manual_seed(0)
    train, val = signal(32, 320, 0), signal(16, 160, 1)
    model = Model()
    sam = SAM(torch.optim.Adam(model.parameters(), lr=6e-3))
    restarts = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(sam.base, T_0=4, T_mult=2, eta_min=3e-4)
    for epoch in range(12):
        tr = run(model, *train, 20, sam)
        restarts.step()
        print(f"{epoch}: train mse {tr:.4f} val mse {run(model, *val, 40):.4f} lr {restarts.get_last_lr()[0]:.2e}")


if __name__ == "__main__":
    main()
