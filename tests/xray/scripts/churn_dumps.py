# 고객 이탈 예측: 3월 덤프 + 4월 덤프
import numpy as np
import torch
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SEED = 17
np.random.seed(SEED)
torch.manual_seed(SEED)


def dump(ids, table):
    return table[ids]


n_customers = 700
table = np.random.randn(n_customers, 25).astype(np.float32)
churn = (table[:, :3].sum(1) + 1.8 * np.random.randn(n_customers) > 0).astype(np.int64)

march = np.arange(0, 520)
april = np.arange(180, 700)               # customers who were still there in April
ids = np.concatenate([march, april])
X, y = dump(ids, table), churn[ids]
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.25, random_state=SEED)
X_new = np.random.randn(500, 25).astype(np.float32)      # the customers of May
y_new = (X_new[:, :3].sum(1) + 1.8 * np.random.randn(500) > 0).astype(np.int64)
print("train", X_train.shape, "val", X_val.shape)

train_loader = DataLoader(TensorDataset(torch.tensor(X_train), torch.tensor(y_train)), batch_size=64, shuffle=True)
val_loader = DataLoader(TensorDataset(torch.tensor(X_val), torch.tensor(y_val)), batch_size=130)


class ChurnNet(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_features, 128), nn.ReLU(),
            nn.Linear(128, 128), nn.ReLU(),
            nn.Linear(128, 2))

    def forward(self, x):
        return self.layers(x)


model = ChurnNet(25)
criterion = nn.CrossEntropyLoss(reduction="sum")
optimizer = torch.optim.SGD(model.parameters(), lr=0.003, momentum=0.9)


def accuracy(loader):
    model.eval()
    hits = 0
    with torch.no_grad():
        for xb, yb in loader:
            hits += (model(xb).argmax(1) == yb).sum().item()
    return hits / len(loader.dataset)


for epoch in range(20):
    model.train()
    total = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} train loss {total / len(X_train):.4f} val acc {accuracy(val_loader):.4f}")
may = DataLoader(TensorDataset(torch.tensor(X_new), torch.tensor(y_new)), batch_size=250)
print(f"val acc {accuracy(val_loader):.4f}   May acc {accuracy(may):.4f}")
