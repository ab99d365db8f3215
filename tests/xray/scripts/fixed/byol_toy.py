"""Self-supervised pretraining on toy vectors: online / target networks with EMA."""
import copy
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.BatchNorm1d(h), nn.ReLU(inplace=True), nn.Linear(h, o))


class BYOL(nn.Module):
    def __init__(self, dim=32, hidden=64, proj=16, tau=0.99):
        super().__init__()
        self.online = nn.Sequential(mlp(dim, hidden, hidden), mlp(hidden, hidden, proj))
        self.target = copy.deepcopy(self.online)
        self.predictor = mlp(proj, hidden, proj)
        self.tau = tau
        for p in self.target.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update_target(self):
        for po, pt in zip(self.online.parameters(), self.target.parameters()):
            pt.data = pt.data * self.tau + po.data * (1 - self.tau)

    def forward(self, v1, v2):
        p1, p2 = self.predictor(self.online(v1)), self.predictor(self.online(v2))
        with torch.no_grad():
            z1, z2 = self.target(v1), self.target(v2)
        return regression_loss(p1, z2) + regression_loss(p2, z1)


def regression_loss(p, z):
    return (2 - 2 * (F.normalize(p, dim=-1) * F.normalize(z, dim=-1)).sum(-1)).mean()


def augment(x):
    keep = (torch.rand_like(x) > 0.2).float()
    return x * keep + 0.3 * torch.randn_like(x)


def knn_accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        z = F.normalize(model.online[0](x), dim=1)
    sim = z @ z.t()
    sim.fill_diagonal_(-9)
    model.train()
    return (y[sim.argmax(1)] == y).float().mean().item()


def main(epochs=5, bs=64):
    torch.manual_seed(0)
    np.random.seed(0)
    y = torch.arange(640) % 8
    x = torch.randn(8, 32)[y] + 0.9 * torch.randn(640, 32)
    loader = DataLoader(TensorDataset(x, y), batch_size=bs, shuffle=True, drop_last=True)
    model = BYOL()
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(params, lr=2e-3, weight_decay=1e-6)
    model.train()
    for epoch in range(epochs):
        losses = []
        for xb, _ in loader:
            loss = model(augment(xb), augment(xb))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            model.update_target()
            losses.append(loss.item())
        gap = sum((a - b).abs().sum().item() for a, b in zip(model.online.parameters(), model.target.parameters()))
        print(f"epoch {epoch} loss {np.mean(losses):.4f} |online-target| {gap:.3f} knn {knn_accuracy(model, x, y):.3f}")


if __name__ == "__main__":
    main()
