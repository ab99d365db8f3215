"""Second-order MAML on sine regression with functional_call; learnt inner step sizes."""
import math

import torch
from torch import nn
from torch.func import functional_call


class Sines:
    def __init__(self, g):
        self.g = g

    def rand(self, *s):
        return torch.rand(*s, generator=self.g)

    def task(self, k, q):
        amp, phase = 0.5 + 3 * self.rand(1), math.pi * self.rand(1)
        x = self.rand(k + q, 1) * 8 - 4
        y = amp * torch.sin(x + phase)
        return (x[:k], y[:k]), (x[k:], y[k:])


class Meta(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
        names = [n.replace(".", "_") for n, _ in self.net.named_parameters()]
        self.rates = nn.ParameterDict({n: nn.Parameter(torch.tensor(math.log(0.01))) for n in names})

    def loss(self, params, x, y):
        return nn.functional.mse_loss(functional_call(self.net, params, (x,)), y)

    def adapt(self, support, steps, second_order=True):
        fast = dict(self.net.named_parameters())
        for _ in range(steps):
            inner = self.loss(fast, *support)
            grads = torch.autograd.grad(inner, list(fast.values()), create_graph=second_order)
            fast = {n: p - self.rates[n.replace(".", "_")].exp() * g for (n, p), g in zip(fast.items(), grads)}
        return fast


def test(meta, seed, steps, n=60):
    tasks, total = Sines(torch.Generator().manual_seed(seed)), 0.0
    for _ in range(n):
        support, query = tasks.task(10, 50)
        fast = meta.adapt(support, steps, second_order=False)      # needs grad, so no no_grad here
        with torch.no_grad():
            total += meta.loss(fast, *query).item()
    return total / n


def main(meta_iters=250, tasks_per=6, steps=2):
    torch.manual_seed(0)
    meta, tasks = Meta(), Sines(torch.Generator().manual_seed(5))
    opt = torch.optim.Adam(meta.parameters(), lr=3e-3)
    for it in range(meta_iters):
        for p in meta.parameters():
            p.grad = None
        running = 0.0
        for _ in range(tasks_per):                                 # one backward per task, one step
            support, query = tasks.task(10, 10)
            outer = meta.loss(meta.adapt(support, steps), *query) / tasks_per
            outer.backward()
            running += outer.item()
        opt.step()
        if it % 50 == 49:
            print(f"{it + 1}: query loss {running:.3f}, unseen tasks {test(meta, 999, steps):.3f}")


if __name__ == "__main__":
    main()
