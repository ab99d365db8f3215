"""GRU on an adding task with a few wild targets; gradient norm kept in check by an optimizer hook."""
import torch
from torch import nn


class Adder(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.rnn = nn.GRU(2, hidden, batch_first=True)
        self.read = nn.Linear(hidden, 1)

    def forward(self, x):
        _, h = self.rnn(x)
        return self.read(h[-1])


def adding(n, seed, length=10, wild=0.0):
    g = torch.Generator().manual_seed(seed)
    v = torch.rand(n, length, generator=g)
    m = torch.zeros(n, length)
    picks = torch.stack([torch.randperm(length, generator=g)[:2] for _ in range(n)])
    m.scatter_(1, picks, 1.0)
    y = (v * m).sum(1, keepdim=True)
    outlier = torch.rand(n, 1, generator=g) < wild
    y = torch.where(outlier, y + 60 * torch.randn(n, 1, generator=g), y)
    return torch.stack([v, m], -1), y


def keep_in_check(optimizer, max_norm):
    def limit(opt, args, kwargs):
        params = [p for group in opt.param_groups for p in group["params"]]
        nn.utils.clip_grad_norm_(params, max_norm, foreach=True)

    return optimizer.register_step_pre_hook(limit)


def mae(net, x, y):
    net.eval()
    with torch.no_grad():
        return (net(x) - y).abs().mean().item()


def train(epochs=10, size=20):
    torch.manual_seed(2)
    net = Adder()
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.8)
    keep_in_check(opt, 1.0)
    x, y = adding(400, 1, wild=0.01)
    vx, vy = adding(200, 2)
    biggest = 0.0
    for epoch in range(epochs):
        net.train()
        for ids in torch.randperm(len(x)).split(size):
            before = [p.detach().clone() for p in net.parameters()]
            loss = nn.functional.mse_loss(net(x[ids]), y[ids])
            opt.zero_grad()
            loss.backward()
            opt.step()
            move = sum((p.detach() - b).pow(2).sum() for p, b in zip(net.parameters(), before)).sqrt().item()
            biggest = max(biggest, move)
        print(f"epoch {epoch} clean val mae {mae(net, vx, vy):.4f} largest move {biggest:.3f}")
    return mae(net, vx, vy), biggest


if __name__ == "__main__":
    result = train()
