import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


def make_graph(n_per=60, k=4, p_in=0.10, p_out=0.015, seed=0):
    g = torch.Generator().manual_seed(seed)
    y = torch.arange(k).repeat_interleave(n_per)
    same = y[:, None] == y[None, :]
    prob = torch.where(same, torch.tensor(p_in), torch.tensor(p_out))
    upper = torch.triu((torch.rand(prob.shape, generator=g) < prob).float(), 1)
    adj = upper + upper.t() + torch.eye(len(y))
    deg = adj.sum(1)
    adj = adj / deg.sqrt()[:, None] / deg.sqrt()[None, :]
    feats = F.one_hot(y, k).float() @ torch.randn(k, 16, generator=g) * 0.5 + torch.randn(len(y), 16, generator=g) * 1.5
    return feats, adj, y


class GraphConv(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.lin = nn.Linear(d_in, d_out)

    def forward(self, x, adj):
        return adj @ self.lin(x)


class GCN(nn.Module):
    def __init__(self, d_in, hidden, n_classes, n_hidden_layers=2):
        super().__init__()
        self.first = GraphConv(d_in, hidden)
        self.middle = [GraphConv(hidden, hidden) for _ in range(n_hidden_layers)]
        self.last = GraphConv(hidden, n_classes)

    def forward(self, x, adj):
        x = F.relu(self.first(x, adj))
        for conv in self.middle:
            x = F.dropout(F.relu(conv(x, adj)), 0.3, self.training)
        return self.last(x, adj)


def accuracy(out, y):
    return (out.argmax(1) == y).float().mean().item()


torch.manual_seed(8)
x, adj, y = make_graph()
perm = torch.randperm(len(y))
train_idx, val_idx, test_idx = perm[:60], perm[60:120], perm[120:]

model = GCN(16, 16, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
best_val, best_state = float("inf"), None
for epoch in range(120):
    model.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x, adj)[train_idx], y[train_idx])
    loss.backward()
    optimizer.step()

    model.eval()
    with torch.no_grad():
        val_acc = accuracy(model(x, adj)[val_idx], y[val_idx])
    if val_acc < best_val:
        best_val = val_acc
        best_state = copy.deepcopy(model.state_dict())
    if epoch % 20 == 19:
        print(f"epoch {epoch + 1:3d} loss {loss.item():.4f} val acc {val_acc:.3f} best {best_val:.3f}")

model.load_state_dict(best_state)
model.eval()
with torch.no_grad():
    print(f"test acc {accuracy(model(x, adj)[test_idx], y[test_idx]):.4f}")
