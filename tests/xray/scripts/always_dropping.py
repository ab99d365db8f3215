import torch
from torch import nn
import torch.nn.functional as F

# wind turbine power from (wind, pitch, temperature, ...)  -> one number

class Residual(nn.Module):
    def __init__(self, d, drop):
        super().__init__()
        self.a = nn.Linear(d, d)
        self.b = nn.Linear(d, d)
        self.drop = drop

    def forward(self, x):
        h = F.silu(self.a(x))
        h = F.dropout(h, self.drop)
        return x + self.b(h)


class Turbine(nn.Module):
    def __init__(self, inp=7, d=48, n=2, drop=0.25):
        super().__init__()
        self.stem = nn.Linear(inp, d)
        self.blocks = nn.ModuleList(Residual(d, drop) for _ in range(n))
        self.tail = nn.Linear(d, 1)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.tail(x).squeeze(-1)


def measure(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 7, generator=g)
    y = 2 * torch.sigmoid(3 * x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] - x[:, 3].abs()
    return x, y + 0.05 * torch.randn(n, generator=g)


class Plan:
    """one-cycle by hand: linear up, linear down to zero"""

    def __init__(self, opt, top, total, warm):
        self.opt, self.top, self.total, self.warm, self.i = opt, top, total, warm, 0

    def set(self):
        self.i += 1
        f = self.i / self.warm if self.i <= self.warm else (self.total - self.i) / (self.total - self.warm)
        for group in self.opt.param_groups:
            group["lr"] = self.top * f


@torch.inference_mode()
def r2(net, x, y):
    net.eval()
    return 1 - ((net(x) - y).pow(2).sum() / (y - y.mean()).pow(2).sum()).item()


torch.manual_seed(23)
x, y = measure(1000, 1)
vx, vy = measure(500, 2)
net = Turbine()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
EPOCHS, SIZE = 14, 50
plan = Plan(opt, 1e-2, EPOCHS * (len(x) // SIZE), warm=40)
for epoch in range(EPOCHS):
    net.train()
    for ids in torch.randperm(len(x)).split(SIZE):
        plan.set()
        loss = F.mse_loss(net(x[ids]), y[ids])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch} val R2 {r2(net, vx, vy):.4f}")
scores = [r2(net, vx, vy) for _ in range(3)]
print("three looks at the same model:", scores)
