import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(600, 9)
y = (x[:, :2] ** 2).sum(1, keepdim=True)
train = DataLoader(TensorDataset(x[:450], y[:450]), batch_size=45, shuffle=True)
valid = DataLoader(TensorDataset(x[450:], y[450:]), batch_size=50)
net = nn.Sequential(nn.Linear(9, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.AdamW(net.parameters(), lr=4e-3)
mse = nn.MSELoss()


def evaluate():
    net.eval()
    total = 0.0
    with torch.no_grad():
        for a, b in valid:
            val = mse(net(a), b)
            total += val.item() * len(a)
    return total / len(valid.dataset)


for epoch in range(8):
    net.train()
    for a, b in train:
        opt.zero_grad()
        loss = mse(net(a), b)
        loss.backward()
        opt.step()
    print(f"epoch {epoch} train {loss.item():.4f} valid {evaluate():.4f}")
