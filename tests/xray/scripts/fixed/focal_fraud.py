# Credit card fraud (imbalanced), focal loss
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

np.random.seed(5)
torch.manual_seed(5)

n = 2400
amount = np.random.lognormal(3.0, 1.0, n)
hour = np.random.uniform(0, 24, n)
v = np.random.normal(size=(n, 10))
risk = 0.8 * v[:, 0] + 0.9 * v[:, 1] * v[:, 2] + 0.4 * np.log(amount) + (np.abs(hour - 3) < 2) - 2.4
fraud = (risk + 0.5 * np.random.normal(size=n) > 1.0).astype(np.float32)
print("fraud rate", fraud.mean().round(3))

feats = np.column_stack([np.log(amount), np.sin(hour / 24 * 6.283), np.cos(hour / 24 * 6.283), v]).astype(np.float32)
X_train, y_train = torch.from_numpy(feats[:1800]), torch.from_numpy(fraud[:1800])
X_valid, y_valid = torch.from_numpy(feats[1800:]), torch.from_numpy(fraud[1800:])


class FocalLoss(nn.Module):
    def __init__(self, alpha=0.5, gamma=2.0):
        super().__init__()
        self.alpha, self.gamma = alpha, gamma

    def forward(self, logits, targets):
        bce = F.binary_cross_entropy_with_logits(logits, targets, reduction="none")
        pt = torch.exp(-bce)
        per_sample = [self.alpha * (1 - p) ** self.gamma * b for p, b in zip(pt, bce)]
        return sum(per_sample) / len(per_sample)


class Net(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.bn = nn.BatchNorm1d(d)
        self.l1 = nn.Linear(d, 64)
        self.l2 = nn.Linear(64, 32)
        self.l3 = nn.Linear(32, 1)

    def forward(self, x):
        x = self.bn(x)
        x = F.relu(self.l1(x))
        x = F.relu(self.l2(x))
        return self.l3(x).squeeze(-1)


weights = torch.where(y_train > 0, 1 / y_train.mean(), 1 / (1 - y_train.mean()))
sampler = WeightedRandomSampler(weights, num_samples=1200)
loader = DataLoader(TensorDataset(X_train, y_train), batch_size=60, sampler=sampler)
model, criterion = Net(X_train.shape[1]), FocalLoss()
optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)


def auc(score, label):
    pos, neg = score[label > 0], score[label == 0]
    return (pos[:, None] > neg[None, :]).float().mean().item()


for epoch in range(8):
    model.train()
    epoch_loss = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    model.eval()
    with torch.no_grad():
        score = model(X_valid)
    print(f"epoch {epoch}: loss {epoch_loss / len(loader):.4f}  valid AUC {auc(score, y_valid):.4f}")
