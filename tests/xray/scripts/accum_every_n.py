import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--accumulate", default=4, type=int)
parser.add_argument("--batch-size", default=16, type=int)
parser.add_argument("--epochs", default=6, type=int)
args = parser.parse_args()

torch.manual_seed(42)
x = torch.randn(640, 1, 24)
y = (x[:, 0, :12].mean(1) > x[:, 0, 12:].mean(1)).long()
loader = DataLoader(TensorDataset(x, y), batch_size=args.batch_size, shuffle=True)

model = nn.Sequential(
    nn.Conv1d(1, 12, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2),
    nn.Conv1d(12, 12, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)

for epoch in range(args.epochs):
    model.train()
    epoch_loss = 0.0
    optimizer.zero_grad()
    for i, (inputs, targets) in enumerate(loader):
        loss = F.cross_entropy(model(inputs), targets)
        epoch_loss += loss.item()
        loss.backward()
        if i % args.accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()
    print(f"epoch {epoch}: {epoch_loss / len(loader):.4f}")
