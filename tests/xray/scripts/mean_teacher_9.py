import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class EMATeacher:
    def __init__(self, student, decay):
        self.model = copy.deepcopy(student).eval()
        self.decay = decay
        for p in self.model.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, student):
        for t, s in zip(self.model.parameters(), student.parameters()):
            t.lerp_(s, 1 - self.decay)

    def __call__(self, x):
        with torch.no_grad():
            return self.model(x)


def spirals(n, rng, noise=0.12):
    c = rng.integers(0, 3, n)
    r = rng.uniform(0.2, 1, n)
    ang = 2.2 * r + c * 2 * np.pi / 3 + noise * rng.standard_normal(n)
    x = np.stack([r * np.cos(ang), r * np.sin(ang)], 1).astype(np.float32)
    return torch.from_numpy(x), torch.from_numpy(c)


def ramp(epoch, length=6):
    return float(np.exp(-5 * (1 - min(epoch, length) / length) ** 2))


def validate(net, loader):
    val_loss, hits, n = 0.0, 0, 0
    with torch.no_grad():
        for xb, yb in loader:
            out = net(xb)
            val_loss += F.cross_entropy(out, yb, reduction="sum").item()
            hits += (out.argmax(1) == yb).sum().item()
            n += len(yb)
    return val_loss / n, hits / n


rng = np.random.default_rng(4)
torch.manual_seed(4)
xl, yl = spirals(45, rng)
xu, _ = spirals(900, rng)
xv, yv = spirals(400, rng)
unlabelled = DataLoader(TensorDataset(xu), batch_size=90, shuffle=True)
val_loader = DataLoader(TensorDataset(xv, yv), batch_size=128)

student = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
teacher = EMATeacher(student, decay=0.9)
optimizer = torch.optim.SGD(student.parameters(), lr=0.3, momentum=0.9, nesterov=True)

for epoch in range(12):
    student.train()
    for (xb,) in unlabelled:
        idx = torch.randint(0, len(xl), (15,))
        sup = F.cross_entropy(student(xl[idx] + 0.03 * torch.randn(15, 2)), yl[idx])
        target = teacher(xb + 0.03 * torch.randn_like(xb)).softmax(1)
        cons = F.mse_loss(student(xb + 0.03 * torch.randn_like(xb)).softmax(1), target)
        loss = sup + 4.0 * ramp(epoch) * cons
        optimizer.zero_grad()
        loss.backward()
        teacher.update(student)
        optimizer.step()
    student.eval()
    val_loss, val_acc = validate(teacher.model, val_loader)
    print(f"epoch {epoch:02d} | teacher val loss {loss.item():.4f} | acc {val_acc:.4f}")
