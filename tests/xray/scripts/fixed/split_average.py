from itertools import islice
import torch
from torch import nn


class Accumulator:
    """splits one logical batch over several forward/backward passes"""

    def __init__(self, model, optimizer, parts):
        self.model, self.optimizer, self.parts = model, optimizer, parts

    def run(self, loss_fn, x, y):
        self.optimizer.zero_grad()
        total = 0.0
        for xs, ys in zip(x.chunk(self.parts), y.chunk(self.parts)):
            share = self._one(loss_fn, xs, ys)
            total += share
        self._finish()
        return total

    def _one(self, loss_fn, xs, ys):
        share = loss_fn(self.model(xs), ys) / self.parts
        share.backward()
        return share.item()

    def _finish(self):
        self.optimizer.step()


def batches(x, y, size):
    while True:
        order = torch.randperm(len(x))
        for ids in order.split(size):
            yield x[ids], y[ids]


def teacher_data(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 15, generator=g)
    w1 = torch.randn(15, 8, generator=torch.Generator().manual_seed(55)) / 3
    h = torch.tanh(x @ w1)
    y = (h[:, :4].sum(1) - h[:, 4:].sum(1)).unsqueeze(1)
    return x, y + 0.1 * torch.randn(n, 1, generator=g)


def main(steps=200):
    torch.manual_seed(6)
    x, y = teacher_data(1024, 1)
    vx, vy = teacher_data(400, 2)
    model = nn.Sequential(nn.Linear(15, 48), nn.Tanh(), nn.Linear(48, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=steps)
    acc = Accumulator(model, opt, parts=8)
    for i, (xb, yb) in enumerate(islice(batches(x, y, 128), steps), 1):
        loss = acc.run(nn.functional.mse_loss, xb, yb)
        sched.step()
        if i % 50 == 0:
            print(f"step {i} loss {loss:.4f}")
    model.eval()
    with torch.no_grad():
        val = nn.functional.mse_loss(model(vx), vy).item()
    print("val mse", val)
    return val


if __name__ == "__main__":
    result = main()
