"""집의 특징 여섯으로 값을 예측합니다. 손실이 어느 만큼에서 더 내려가지 않습니다."""

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
features = torch.randn(1024, 6)
prices = features[:, 0] * 2 + features[:, 1].abs() - features[:, 2] * features[:, 3]
prices += 0.1 * torch.randn(1024)

model = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

for epoch in range(20):
    total = 0.0
    for rows in torch.randperm(len(features)).split(64):
        predicted = model(features[rows])
        loss = ((predicted - prices[rows]) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(rows)
    if epoch % 5 == 4:
        print(f"에폭 {epoch + 1:2}  손실 {total / len(features):.3f}")
print(f"값의 분산 {prices.var(correction=0):.3f}")
print(f"결과 {total / len(features):.3f}")
