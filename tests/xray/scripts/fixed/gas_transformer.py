"""Gas-sensor sequence classifier (attention pooling), fp16 autocast."""
from dataclasses import dataclass, field
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Setup:
    lr: float = 2e-3
    decay: float = 0.5
    epochs: int = 6
    batch: int = 40
    init_scale: float = 1024.0
    log: list = field(default_factory=list)


class AttnPool(nn.Module):
    def __init__(self, d_in, d, classes):
        super().__init__()
        self.proj = nn.Linear(d_in, d)
        self.norm = nn.LayerNorm(d)
        self.score = nn.Linear(d, 1)
        self.norm2 = nn.LayerNorm(d)
        self.out = nn.Linear(d, classes)

    def forward(self, x):
        h = F.gelu(self.norm(self.proj(x)))
        a = self.score(h).softmax(dim=1)
        return self.out(self.norm2((a * h).sum(1)))


def build_optimizer(net, s):
    matrices = [p for p in net.parameters() if p.ndim > 1]
    others = [p for p in net.parameters() if p.ndim <= 1]
    groups = [{"params": matrices, "weight_decay": s.decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=s.lr, eps=1e-4)


def puffs(n):
    y = torch.randint(0, 3, (n,))
    x = 0.8 * torch.randn(n, 16, 6)
    when = torch.randint(0, 16, (n,))
    x[torch.arange(n), when, y] += 3.0
    return TensorDataset(x, y)


def train(s):
    torch.manual_seed(39)
    tr = DataLoader(puffs(800), batch_size=s.batch, shuffle=True)
    va = DataLoader(puffs(300), batch_size=100)
    net = AttnPool(6, 32, 3)
    opt = build_optimizer(net, s)
    scaler = torch.amp.GradScaler("cpu", init_scale=s.init_scale)
    for epoch in range(s.epochs):
        net.train()
        tot = 0.0
        for x, y in tr:
            opt.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                loss = F.cross_entropy(net(x), y)
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
            tot += loss.item() * len(y)
        net.eval()
        hit = 0
        with torch.no_grad():
            for x, y in va:
                hit += (net(x).argmax(1) == y).sum().item()
        s.log.append(hit / 300)
        print(f"epoch {epoch} loss {tot / 800:.4f} val acc {s.log[-1]:.4f}")


train(Setup())
