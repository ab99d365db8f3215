"""Five folds of a ridge-like network fitted with LBFGS; scaling is learned inside each fold."""
import torch
from torch import nn

K, N = 5, 300


def table(g):
    x = torch.randn(N, 8, generator=g) * torch.linspace(1, 20, 8) + 5
    y = torch.tanh(x[:, 0] - 5) + 0.05 * (x[:, 7] - 5) + 0.1 * torch.randn(N, generator=g)
    return x, y


def standardize(x):
    mu, sd = x.mean(0), x.std(0)
    return lambda v: (v - mu) / sd


class Fold:
    def __init__(self, seed):
        torch.manual_seed(seed)
        self.net = nn.Sequential(nn.Linear(8, 12), nn.Tanh(), nn.Linear(12, 1))
        self.opt = torch.optim.LBFGS(self.net.parameters(), lr=0.5, max_iter=4, line_search_fn="strong_wolfe")

    def cost(self, x, y):
        fit = (self.net(x).squeeze(1) - y).square().mean()
        return fit + 1e-3 * sum(p.square().sum() for p in self.net.parameters() if p.ndim > 1)

    def train(self, x, y, rounds):
        def closure():
            self.opt.zero_grad()
            c = self.cost(x, y)
            c.backward()
            return c
        for _ in range(rounds):
            first = self.opt.step(closure)
        return first.item()

    @torch.no_grad()
    def test(self, x, y):
        return (self.net(x).squeeze(1) - y).square().sum().item()


def main():
    g = torch.Generator().manual_seed(20)
    x, y = table(g)
    parts = torch.randperm(N, generator=g).tensor_split(K)
    sse = 0.0
    for k, held in enumerate(parts):
        rest = torch.cat([p for j, p in enumerate(parts) if j != k])
        scale = standardize(x[rest])
        fold = Fold(seed=100 + k)
        c = fold.train(scale(x[rest]), y[rest], rounds=10)
        e = fold.test(scale(x[held]), y[held])
        sse += e
        print(f"fold {k} cost {c:.4f} held-out mse {e / len(held):.4f}")
    print(f"cross-validated mse {sse / N:.4f} (variance {y.var().item():.4f})")


main()
