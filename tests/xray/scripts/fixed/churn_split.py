# churn prediction, flat script
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(31)
n, d = 900, 25
X = torch.randn(n, d)
score = X[:, 0] - X[:, 1] * X[:, 2] + 0.5 * X[:, 3]
Y = (score + 1.2 * torch.randn(n) > 0).float()

perm = torch.randperm(n)
train_idx = perm[:int(0.8 * n)]
val_idx = perm[int(0.8 * n):]

mu, sd = X[train_idx].mean(0), X[train_idx].std(0)
X = (X - mu) / sd

train_loader = DataLoader(TensorDataset(X[train_idx], Y[train_idx]), batch_size=36, shuffle=True)
val_loader = DataLoader(TensorDataset(X[val_idx], Y[val_idx]), batch_size=60)

net = nn.Sequential(nn.Linear(d, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
bce = nn.BCEWithLogitsLoss()

for epoch in range(40):
    net.train()
    running = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        logits = net(xb).squeeze(1)
        loss = bce(logits, yb)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(yb)

    net.eval()
    val_hits, val_n = 0, 0
    with torch.no_grad():
        for xb, yb in val_loader:
            guess = (net(xb).squeeze(1) > 0).float()
            val_hits += (guess == yb).sum().item()
            val_n += len(yb)
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1:2d} train loss {running / len(train_idx):.4f} val acc {val_hits / val_n:.4f}")
