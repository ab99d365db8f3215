import torch
import torch.nn as nn


class Ema:
    def __init__(self, model, decay=0.95):
        self.decay = decay
        self.shadow = {n: p.detach().clone() for n, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, model):
        for n, p in model.named_parameters():
            self.shadow[n].mul_(self.decay).add_(p, alpha=1 - self.decay)


class LossMeter:
    def __init__(self):
        self.avg = 0.0

    def __call__(self, value):
        self.avg = 0.9 * self.avg + 0.1 * value
        return self.avg


def toy_batches(n, seed=0):
    g = torch.Generator().manual_seed(seed)
    for _ in range(n):
        x = torch.randn(40, 6, generator=g)
        yield x, torch.sin(x.sum(1, keepdim=True))


def main():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 50), nn.Tanh(), nn.Linear(50, 50), nn.Tanh(), nn.Linear(50, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    ema = Ema(net)
    for i, (x, y) in enumerate(toy_batches(200)):
        loss = nn.functional.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update(net)
        if i % 50 == 0:
            print(i, f"{loss.item():.4f}")
    net.load_state_dict(ema.shadow)
    with torch.no_grad():
        x, y = next(toy_batches(1, 77))
        print("ema test", nn.functional.mse_loss(net(x), y).item())


main()
