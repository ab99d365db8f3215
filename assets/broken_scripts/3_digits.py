"""손글씨 숫자를 읽습니다. 손실은 내려가지만, 다 배운 다음에도 다섯에 하나 넘게 틀립니다."""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F

torch.manual_seed(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
images, labels = (torch.tensor(part) for part in load_digits(return_X_y=True))
images = images.float() / 16
train, val = torch.randperm(len(images)).split([1500, 297])

encoder = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
head = nn.Linear(32, 10)
optimizer = torch.optim.AdamW([*encoder.parameters(), *head.parameters()], lr=1e-2)


def normalized(hidden):
    """샘플마다 길이를 1로 맞춥니다."""
    rows = hidden.detach().numpy()  # numpy()만 부르면 detach()를 먼저 하라는 오류가 납니다
    return torch.from_numpy(rows / np.linalg.norm(rows, axis=1, keepdims=True).clip(1e-6))


for epoch in range(15):
    for rows in train[torch.randperm(len(train))].split(50):
        loss = F.cross_entropy(head(normalized(encoder(images[rows]))), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 5 == 4:
        print(f"에폭 {epoch + 1:2}  손실 {loss.item():.3f}")
with torch.no_grad():
    right = head(normalized(encoder(images[val]))).argmax(dim=1) == labels[val]
print(f"결과 {right.float().mean():.3f}")
