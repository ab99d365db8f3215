import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, o))


class BYOL(nn.Module):
    def __init__(self):
        super().__init__()
        self.online = mlp(16, 24)
        self.predictor = mlp(24, 24)
        self.target = copy.deepcopy(self.online)
        self.target.requires_grad_(False)

    @torch.no_grad()
    def ema(self, m=0.99):
        for t, o in zip(self.target.parameters(), self.online.parameters()):
            t.lerp_(o, 1 - m)

    def forward(self, a, b):
        pa, pb = self.predictor(self.online(a)), self.predictor(self.online(b))
        with torch.no_grad():
            ta, tb = self.target(a), self.target(b)
        return (2 - F.cosine_similarity(pa, tb) - F.cosine_similarity(pb, ta)).mean()


def augment(x):
    return x * (torch.rand_like(x) > 0.1) + 0.2 * torch.randn_like(x)


torch.manual_seed(0)
X = torch.randn(640, 4) @ torch.randn(4, 16)
Y = (X[:, 0] > 0).long()
model = BYOL()
opt = torch.optim.SGD(list(model.online.parameters()) + list(model.predictor.parameters()), lr=0.05, momentum=0.9)
for epoch in range(4):
    model.train()
    for idx in torch.randperm(len(X)).split(64):
        loss = model(augment(X[idx]), augment(X[idx]))
        opt.zero_grad()
        loss.backward()
        opt.step()
        model.ema()
    print(epoch, f"{loss.item():.4f}")

# linear probe on frozen features: computed once, full batch, the same rows every step on purpose
model.eval()
with torch.no_grad():
    feats = model.online(X)
probe = nn.Linear(24, 2)
opt = torch.optim.Adam(probe.parameters(), lr=1e-2, weight_decay=1e-3)
for step in range(30):
    opt.zero_grad()
    loss = F.cross_entropy(probe(feats[:512]), Y[:512])
    loss.backward()
    opt.step()
print("probe acc", (probe(feats[512:]).argmax(1) == Y[512:]).float().mean().item())
