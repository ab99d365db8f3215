import torch
import torch.nn.functional as F
from torch import nn


class Lion:
    """Sign-momentum optimizer, written out by hand."""

    def __init__(self, model, lr, betas=(0.9, 0.99), skip=()):
        self.lr, self.betas = lr, betas
        self.params = [p for n, p in model.named_parameters() if n not in skip and p.requires_grad]
        self.mom = {}

    @torch.no_grad()
    def step(self):
        b1, b2 = self.betas
        for p in self.params:
            if p.grad is None:
                continue
            m = self.mom.setdefault(p, torch.zeros_like(p))
            p.add_(torch.sign(b1 * m + (1 - b1) * p.grad), alpha=-self.lr)
            m.mul_(b2).add_(p.grad, alpha=1 - b2)


class Scorer(nn.Module):
    def __init__(self, users, items, k=12):
        super().__init__()
        self.u = nn.Embedding(users, k)
        self.v = nn.Embedding(items, k)
        self.bias = nn.Parameter(torch.zeros(items))
        nn.init.normal_(self.u.weight, std=0.3)
        nn.init.normal_(self.v.weight, std=0.3)

    def forward(self, a, b):
        return (self.u(a) * self.v(b)).sum(-1) + self.bias[b]


def taste(users, items, seed):
    g = torch.Generator().manual_seed(seed)
    s = torch.randn(users, 4, generator=g) @ torch.randn(4, items, generator=g) + 0.5 * torch.randn(items, generator=g)
    a = torch.randint(0, users, (9000,), generator=g)
    b = torch.randint(0, items, (9000,), generator=g)
    y = (s[a, b] + 0.4 * torch.randn(9000, generator=g) > 0).float()
    return a, b, y


torch.manual_seed(31)
A, B, Y = taste(90, 60, 31)
tr, te = slice(0, 7500), slice(7500, None)
net = Scorer(90, 60)
opt = Lion(net, lr=6e-3)

for epoch in range(8):
    tot = 0.0
    for ix in torch.randperm(7500).split(150):
        z = net(A[tr][ix], B[tr][ix])
        loss = F.binary_cross_entropy_with_logits(z, Y[tr][ix])
        net.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(ix)
    with torch.no_grad():
        acc = ((net(A[te], B[te]) > 0) == (Y[te] > 0.5)).float().mean().item()
    print(f"epoch {epoch}: bce {tot / 7500:.4f}, held-out acc {acc:.4f}")
