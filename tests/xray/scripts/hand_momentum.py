"""Own optimizer with foreach functions on gradients from torch.autograd.grad; nothing is ever stored in .grad.
Masked targets in a batch of padded curves; loss summed and divided by the number of real points."""
import torch
from torch import nn

torch.manual_seed(62)
MAXLEN = 24


def curves(n):
    length = torch.randint(8, MAXLEN + 1, (n,))
    t = torch.linspace(0, 1, MAXLEN).repeat(n, 1)
    a, b = torch.randn(n, 1), torch.randn(n, 1)
    clean = a * torch.sin(5 * t) + b * t
    mask = torch.arange(MAXLEN)[None] < length[:, None]
    noisy = (clean + 0.3 * torch.randn(n, MAXLEN)) * mask
    return noisy.unsqueeze(-1), clean * mask, mask


class Smoother(nn.Module):
    def __init__(self, h=24):
        super().__init__()
        self.rnn = nn.GRU(1, h, batch_first=True)
        self.out = nn.Linear(h, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0]).squeeze(-1)


class Nesterov:
    def __init__(self, params, peak, total, mu=0.9):
        self.p = [p for p in params]
        self.v = [torch.zeros_like(p) for p in self.p]
        self.peak, self.total, self.mu, self.k = peak, total, mu, 0

    @property
    def lr(self):
        warm = min(1.0, (self.k + 1) / 20)
        return self.peak * warm * (1 - self.k / self.total)

    @torch.no_grad()
    def step(self, grads):
        norm = torch.stack(torch._foreach_norm(grads)).norm()
        if norm > 1:
            grads = torch._foreach_div(grads, norm)
        torch._foreach_mul_(self.v, self.mu)
        torch._foreach_add_(self.v, grads)
        torch._foreach_add_(self.p, torch._foreach_add(grads, self.v, alpha=self.mu), alpha=-self.lr)
        self.k += 1


def point_loss(net, x, y, m):
    return ((net(x) - y).pow(2) * m).sum() / m.sum()


X, Y, M = curves(640)
held = curves(200)
net = Smoother()
EPOCHS, B = 8, 32
opt = Nesterov(net.parameters(), peak=0.05, total=EPOCHS * len(X) // B)

for epoch in range(EPOCHS):
    total = points = 0
    for idx in torch.randperm(len(X)).split(B):
        loss = point_loss(net, X[idx], Y[idx], M[idx])
        opt.step(torch.autograd.grad(loss, opt.p))
        k = M[idx].sum().item()
        total += loss.item() * k
        points += k
    with torch.no_grad():
        v = point_loss(net, *held).item()
    print(f"epoch {epoch} train {total / points:.4f} held-out {v:.4f} next lr {opt.lr if opt.k < opt.total else 0:.4f}")
