# %% [markdown]
# House price baseline (Kaggle-style), PyTorch MLP

# %%
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

rng = np.random.default_rng(7)
torch.manual_seed(7)

# %% 데이터 만들기: area, rooms, age, distance ...
N = 900
area = rng.gamma(6.0, 15.0, N)
rooms = rng.integers(1, 7, N)
age = rng.uniform(0, 60, N)
dist = rng.exponential(5.0, N)
other = rng.normal(size=(N, 6))
price = 2.1 * area + 14 * rooms - 0.9 * age - 4 * np.sqrt(dist) * (area > 80) + rng.normal(0, 8, N)

X = np.column_stack([area, rooms, age, dist, other]).astype("float32")
X = (X - X.mean(0)) / X.std(0)
y = ((price - price.mean()) / price.std()).astype("float32")

# %%
dataset = TensorDataset(torch.from_numpy(X), torch.from_numpy(y))
train_set, valid_set = random_split(dataset, [720, 180])
train_dl = DataLoader(train_set, batch_size=36, shuffle=True)
valid_dl = DataLoader(valid_set, batch_size=90)

# %%
model = nn.Sequential(
    nn.Linear(10, 64), nn.SiLU(),
    nn.Linear(64, 64), nn.SiLU(),
    nn.Linear(64, 1),
)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

# %% 학습
EPOCHS = 14
for epoch in range(EPOCHS):
    model.train()
    total, seen = 0.0, 0
    for features, target in train_dl:
        optimizer.zero_grad()
        prediction = model(features)
        loss = criterion(prediction, target)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(target)
        seen += len(target)

    model.eval()
    errors = []
    with torch.no_grad():
        for features, target in train_dl:
            errors.append((model(features)[:, 0] - target).pow(2))
    rmse = torch.cat(errors).mean().sqrt().item()
    print(f"epoch {epoch + 1:2d}  train mse {total / seen:.4f}  valid rmse {rmse:.4f}")

# %% hold-out score
with torch.no_grad():
    xb, yb = zip(*[valid_set[i] for i in range(len(valid_set))])
    xb, yb = torch.stack(xb), torch.stack(yb)
    final = (model(xb)[:, 0] - yb).pow(2).mean().sqrt().item()
print(f"final hold-out rmse {final:.4f}")
