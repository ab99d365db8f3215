"""Sharpness-aware minimisation with micro-batches (batch 128 = 4 x 32)."""
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(37)
RHO, MICRO = 0.05, 4


class SAM:
    def __init__(self, params, base):
        self.params = list(params)
        self.base = base
        self.eps = None

    @torch.no_grad()
    def climb(self):
        norm = torch.stack([p.grad.norm() for p in self.params]).norm()
        self.eps = [RHO * p.grad / (norm + 1e-12) for p in self.params]
        torch._foreach_add_(self.params, self.eps)
        self.base.zero_grad()

    @torch.no_grad()
    def descend(self):
        torch._foreach_sub_(self.params, self.eps)
        self.base.step()
        self.base.zero_grad()


def backward(net, x, y):
    loss = F.cross_entropy(net(x), y)
    (loss / MICRO).backward()
    return loss.item()


def gestures(n, centers):
    y = torch.randint(0, len(centers), (n,))
    x = centers[y] + 1.5 * torch.randn(n, centers.shape[1])
    return TensorDataset(x, y)


centers = torch.randn(8, 20)
train = DataLoader(gestures(1024, centers), batch_size=128, shuffle=True)
test = DataLoader(gestures(500, centers), batch_size=100)
net = nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 8))
sgd = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
sam = SAM(net.parameters(), sgd)

for epoch in range(8):
    net.train()
    run, seen = 0.0, 0
    for X, Y in train:
        chunks = list(zip(X.chunk(MICRO), Y.chunk(MICRO)))
        for x, y in chunks:
            run += backward(net, x, y) * len(y)
            seen += len(y)
        sam.climb()
        for x, y in chunks:
            backward(net, x, y)
        sam.descend()
    net.eval()
    hit = 0
    with torch.no_grad():
        for x, y in test:
            hit += (net(x).argmax(1) == y).sum().item()
    print(f"epoch {epoch} loss {run / seen:.4f} test acc {hit / 500:.4f}")
