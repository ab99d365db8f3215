"""분류기를 학습합니다. 손실이 내려가다가 어느 때부터 커집니다."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
inputs = torch.randn(1024, 20)
targets = (inputs[:, 0] * inputs[:, 1] > 0).long()

model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

for epoch in range(10):
    for batch in torch.randperm(len(inputs)).split(64):
        logits = model(inputs[batch])
        loss = F.cross_entropy(logits, targets[batch])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}  loss {loss.item():.3f}")
