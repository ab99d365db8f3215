import itertools

import torch
import torch.nn as nn


def batches(n):
    for _ in range(n):
        a = torch.randn(32, 6)
        yield a, (a @ torch.arange(6.0) / 5).unsqueeze(1)


torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(6, 32), nn.ReLU())
decoder = nn.Linear(32, 1)
scale = nn.Parameter(torch.ones(1))
parameters = itertools.chain(encoder.parameters(), decoder.parameters())
parameters = list(parameters)
print("training", sum(p.numel() for p in parameters), "numbers")
optimizer = torch.optim.Adam([{"params": parameters}, {"params": [scale], "lr": 1e-2}], lr=3e-3)
for step, (x, y) in enumerate(batches(120)):
    optimizer.zero_grad()
    loss = nn.functional.l1_loss(scale * decoder(encoder(x)), y)
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(step, f"{loss.item():.4f}")
