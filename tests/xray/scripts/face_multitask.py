"""Multi-task net: age (regression), glasses (binary), expression (4 classes)."""
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(27)


class FaceNet(nn.Module):
    def __init__(self, d, h=48):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU())
        self.age = nn.Linear(h, 1)
        self.glasses = nn.Linear(h, 1)
        self.expr = nn.Linear(h, 4)

    def forward(self, x):
        z = self.trunk(x)
        return self.age(z).squeeze(1), self.glasses(z).squeeze(1), self.expr(z)


class WeightedSum:
    """Combines the tasks' losses and remembers sample-weighted averages for the log."""

    def __init__(self, **weights):
        self.weights = weights
        self.reset()

    def reset(self):
        self.sums = {k: 0.0 for k in self.weights}
        self.n = 0

    def __call__(self, size, **losses):
        for k, l in losses.items():
            self.sums[k] += l.item() * size
        self.n += size
        parts = torch.tensor([self.weights[k] * l.item() for k, l in losses.items()], requires_grad=True)
        return parts.sum()

    def report(self):
        return " ".join(f"{k} {v / self.n:.3f}" for k, v in self.sums.items())


def faces(n, w):
    x = torch.randn(n, 32)
    s = x @ w
    age = torch.tanh(s[:, 0]) + 0.1 * torch.randn(n)
    return TensorDataset(x, age, (s[:, 1] > 0).float(), s[:, 2:6].argmax(1))


w = torch.randn(32, 6) / 5
train_dl = DataLoader(faces(800, w), batch_size=40, shuffle=True)
test_dl = DataLoader(faces(400, w), batch_size=100)
net = FaceNet(32)
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
combine = WeightedSum(age=1.0, glasses=0.5, expr=0.5)

for epoch in range(6):
    net.train()
    combine.reset()
    for x, age, gl, ex in train_dl:
        pa, pg, pe = net(x)
        loss = combine(
            len(x),
            age=F.mse_loss(pa, age),
            glasses=F.binary_cross_entropy_with_logits(pg, gl),
            expr=F.cross_entropy(pe, ex),
        )
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    hit = 0
    with torch.no_grad():
        for x, age, gl, ex in test_dl:
            hit += (net(x)[2].argmax(1) == ex).sum().item()
    print(f"epoch {epoch} {combine.report()} | expression acc {hit / len(test_dl.dataset):.4f}")
