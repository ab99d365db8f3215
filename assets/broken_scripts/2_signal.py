"""잡음 섞인 긴 신호를 10칸씩 읽으며 다음 칸을 예측합니다. 두 번째 업데이트에서 멈춥니다."""

import math
import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
phases = 2 * math.pi * torch.rand(32, 1)  # 신호 32개, 주기는 50칸
signals = torch.sin(phases + torch.arange(611) * 2 * math.pi / 50) + 0.3 * torch.randn(32, 611)

model = nn.GRU(1, 32, batch_first=True)
head = nn.Linear(32, 1)
optimizer = torch.optim.AdamW([*model.parameters(), *head.parameters()], lr=1e-2)

for epoch in range(3):
    state = torch.zeros(1, 32, 32)  # 앞 구간에서 본 것을 다음 구간으로 넘깁니다
    losses = []
    for start in range(0, 600, 10):
        window = signals[:, start : start + 11]
        outputs, state = model(window[:, :-1, None], state)
        loss = ((head(outputs).squeeze(2) - window[:, 1:]) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"에폭 {epoch + 1}  손실 {sum(losses) / len(losses):.3f}")
print(f"결과 {sum(losses[-30:]) / 30:.3f}")
