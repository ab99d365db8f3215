# %% Fraud detection with an imbalanced dataset
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(9)
torch.manual_seed(9)

# %% data: 3 % positives, a weak signal in 2 of 30 features
n, d = 3000, 30
X = rng.normal(size=(n, d))
y = (rng.random(n) < 0.03).astype(np.float32)
X[y == 1, :2] += 1.4

# %% balance the classes
pos = np.flatnonzero(y == 1)
neg = np.flatnonzero(y == 0)
extra = rng.choice(pos, size=len(neg) - len(pos), replace=True)
idx = rng.permutation(np.concatenate([neg, pos, extra]))
X_bal, y_bal = X[idx], y[idx]

# %% split
cut = int(0.8 * len(X_bal))
X_train, y_train = X_bal[:cut], y_bal[:cut]
X_val, y_val = X_bal[cut:], y_bal[cut:]

# %% standardise with the training statistics
mu, sd = X_train.mean(0), X_train.std(0)
X_train = (X_train - mu) / sd
X_val = (X_val - mu) / sd


def tensors(a, b):
    return TensorDataset(torch.tensor(a, dtype=torch.float32),
                         torch.tensor(b, dtype=torch.float32))


train_loader = DataLoader(tensors(X_train, y_train), batch_size=64, shuffle=True)
val_loader = DataLoader(tensors(X_val, y_val), batch_size=256)

# %% model
model = nn.Sequential(
    nn.Linear(d, 64), nn.ReLU(),
    nn.Linear(64, 32), nn.ReLU(),
    nn.Linear(32, 1), nn.Sigmoid(),
)
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

# %% train
for epoch in range(12):
    model.train()
    loss_sum = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        out = model(xb).squeeze(1)
        loss = criterion(out, yb)
        loss.backward()
        optimizer.step()
        loss_sum += loss.item() * len(xb)
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1} train loss {loss_sum / len(train_loader.dataset):.4f}")

# %% validate
model.eval()
probs, truth = [], []
with torch.no_grad():
    for xb, yb in val_loader:
        probs.append(model(xb).squeeze(1))
        truth.append(yb)
probs, truth = torch.cat(probs), torch.cat(truth)
pred = (probs > 0.5).float()
tpr = pred[truth == 1].mean().item()
tnr = (1 - pred[truth == 0]).mean().item()
print(f"validation recall {tpr:.4f} specificity {tnr:.4f} balanced accuracy {(tpr + tnr) / 2:.4f}")
