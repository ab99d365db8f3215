"""Two-tower retrieval with in-batch negatives."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(21)
N_USERS, N_ITEMS, DIM = 600, 200, 16

item_feats = torch.randn(N_ITEMS, 24)
user_feats = torch.randn(N_USERS, 20)
A, B = torch.randn(20, 6), torch.randn(24, 6)
affinity = torch.tanh(user_feats @ A) @ torch.tanh(item_feats @ B).T
users = torch.arange(N_USERS).repeat_interleave(4)
items = affinity.topk(4, dim=1).indices.flatten()
held_out = torch.rand(len(users)) < 0.2


class Tower(nn.Module):
    def __init__(self, d_in, hidden=64, d_out=DIM):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_in, hidden), nn.ReLU(), nn.Linear(hidden, d_out))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


class TwoTower(nn.Module):
    def __init__(self):
        super().__init__()
        self.user_tower = Tower(20)
        self.item_tower = Tower(24)
        self.log_scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, uf, itf):
        u, v = self.user_tower(uf), self.item_tower(itf)
        return self.log_scale.exp() * u @ v.T


@torch.no_grad()
def recall_at_k(model, k=10):
    model.eval()
    scores = model(user_feats, item_feats)
    top = scores.topk(k, dim=1).indices
    hit = (top[users[held_out]] == items[held_out, None]).any(1)
    return hit.float().mean().item()


loader = DataLoader(TensorDataset(users[~held_out], items[~held_out]), batch_size=64, shuffle=True, drop_last=True)
model = TwoTower()
optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9)
max_norm = 0.25

for epoch in range(8):
    model.train()
    running = 0.0
    for u, i in loader:
        logits = model(user_feats[u], item_feats[i])
        dup = (i[:, None] == i[None]) & ~torch.eye(len(i), dtype=torch.bool)
        loss = F.cross_entropy(logits.masked_fill(dup, -1e4), torch.arange(len(i)))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        running += loss.item()
    print(f"epoch {epoch}: loss {running / len(loader):.4f} recall@10 {recall_at_k(model):.4f}")
