# BYOL: online network + predictor, target network = moving average (BatchNorm stays in train mode, as in the paper)
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)
CLASSES, DIM = 5, 24
centers = torch.randn(CLASSES, DIM) * 1.2


def sample(n):
    k = torch.randint(0, CLASSES, (n,))
    return centers[k] + 0.8 * torch.randn(n, DIM), k


def view(x):
    mask = (torch.rand_like(x) > 0.25).float()
    return x * mask + 0.3 * torch.randn_like(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(DIM, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32))
        self.projector = nn.Sequential(nn.Linear(32, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 16))

    def forward(self, x):
        return self.projector(self.encoder(x))


def regression_loss(p, z):
    return 2 - 2 * F.cosine_similarity(p, z, dim=-1).mean()


online = Net()
predictor = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))
target = copy.deepcopy(online)
for p in target.parameters():
    p.requires_grad = False
optimizer = torch.optim.AdamW([*online.parameters(), *predictor.parameters()], lr=3e-3, weight_decay=1e-4)

x_train, y_train = sample(960)
x_test, y_test = sample(300)
STEPS = 150
for step in range(STEPS):
    x = x_train[torch.randint(0, len(x_train), (96,))]
    v1, v2 = view(x), view(x)
    with torch.no_grad():
        t1, t2 = target(v1), target(v2)
    loss = regression_loss(predictor(online(v1)), t2) + regression_loss(predictor(online(v2)), t1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    tau = 1 - 0.05 * (math.cos(math.pi * step / STEPS) + 1) / 2
    with torch.no_grad():
        for po, pt in zip(online.parameters(), target.parameters()):
            pt.mul_(tau).add_(po, alpha=1 - tau)
    if step % 30 == 29:
        print(f"step {step + 1} loss {loss.item():.4f} tau {tau:.4f}")

# kNN 평가
online.eval()
with torch.no_grad():
    bank = F.normalize(online.encoder(x_train), dim=1)
    q = F.normalize(online.encoder(x_test), dim=1)
    near = (q @ bank.t()).topk(15).indices
    vote = F.one_hot(y_train[near], CLASSES).sum(1).argmax(1)
print(f"kNN acc {(vote == y_test).float().mean().item():.4f}, std of features {bank.std(0).mean().item():.4f}")
