import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **kw):
        super().__init__(params, dict(rho=rho, **kw))
        self.base = base(self.param_groups, **kw)
        self.param_groups = self.base.param_groups

    @torch.no_grad()
    def first_step(self):
        grads = [p.grad.norm() for g in self.param_groups for p in g["params"] if p.grad is not None]
        norm = torch.stack(grads).norm() + 1e-12
        for g in self.param_groups:
            for p in g["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old"] = p.clone()
                p.add_(p.grad * g["rho"] / norm)
        self.zero_grad()

    @torch.no_grad()
    def second_step(self):
        for g in self.param_groups:
            for p in g["params"]:
                if "old" in self.state[p]:
                    p.copy_(self.state[p]["old"])
        self.base.step()
        self.zero_grad()

    def step(self, closure=None):
        raise NotImplementedError


torch.manual_seed(0)
X = torch.randn(768, 12)
Y = (X[:, 0] * X[:, 1] > 0).long()
loader = DataLoader(TensorDataset(X, Y), batch_size=32, shuffle=True, drop_last=True)
net = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = SAM(net.parameters(), torch.optim.SGD, rho=0.05, lr=0.1, momentum=0.9)
ACCUM = 3

for epoch in range(6):
    window = []
    for x, y in loader:
        window.append((x, y))
        if len(window) < ACCUM:
            continue
        for a, b in window:
            (F.cross_entropy(net(a), b) / ACCUM).backward()
        optimizer.first_step()
        for a, b in window:
            (F.cross_entropy(net(a), b) / ACCUM).backward()
        optimizer.second_step()
        window.clear()
    with torch.no_grad():
        print(f"epoch {epoch} loss {F.cross_entropy(net(X), Y).item():.4f}")
