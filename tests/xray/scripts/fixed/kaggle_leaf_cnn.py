#!/usr/bin/env python
# coding: utf-8

# In[1]:
import random
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader
from torch.optim.lr_scheduler import ReduceLROnPlateau

SEED = 2021
random.seed(SEED)
np.random.seed(SEED)
torch.manual_seed(SEED)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


# In[2]:
class LeafDataset(Dataset):
    """stand-in for the competition images: coloured blobs, 4 classes"""

    def __init__(self, n, seed):
        rng = np.random.RandomState(seed)
        self.y = rng.randint(0, 4, n)
        self.x = rng.randn(n, 3, 16, 16).astype(np.float32)
        for i, c in enumerate(self.y):
            r, q = divmod(int(c), 2)
            self.x[i, c % 3, r * 8:r * 8 + 8, q * 8:q * 8 + 8] += 0.8

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]), int(self.y[i])


train_dl = DataLoader(LeafDataset(512, 0), batch_size=64, shuffle=True)
valid_dl = DataLoader(LeafDataset(256, 1), batch_size=128, shuffle=False)


# In[3]:
class Net(nn.Module):
    def __init__(self, n_classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(32)
        self.drop = nn.Dropout(0.3)
        self.fc = nn.Linear(32 * 4 * 4, n_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        x = self.drop(x.flatten(1))
        return self.fc(x)


model = Net().to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
scheduler = ReduceLROnPlateau(optimizer, mode="max", factor=0.5, patience=0)


# In[4]:
def validate(model, dl):
    model.eval()
    correct = total = 0
    with torch.no_grad():
        for xb, yb in dl:
            pred = model(xb.to(device)).argmax(1).cpu()
            correct += (pred == yb).sum().item()
            total += len(yb)
    return correct / total


# In[5]:
EPOCHS = 8
for epoch in range(EPOCHS):
    model.train()
    running = 0.0
    for xb, yb in train_dl:
        xb, yb = xb.to(device), yb.to(device)
        optimizer.zero_grad()
        out = model(xb)
        loss = criterion(out, yb)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(yb)
    acc = validate(model, valid_dl)
    scheduler.step(acc)
    print(f"epoch {epoch}: train loss {running / len(train_dl.dataset):.4f} "
          f"valid acc {acc:.4f} lr {optimizer.param_groups[0]['lr']:.2e}")
