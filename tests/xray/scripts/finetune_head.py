import copy

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class SmallNet(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
        )
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(64, num_classes)

    def forward(self, x):
        return self.fc(self.drop(self.features(x).flatten(1)))


def pictures(n, seed, classes=3):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(classes, (n,), generator=g)
    x = 0.6 * torch.randn(n, 1, 12, 12, generator=g)
    for i, c in enumerate(y.tolist()):
        x[i, 0, 4 * c:4 * c + 4] += 0.8
    return TensorDataset(x, y)


torch.manual_seed(0)
pretrained = SmallNet()
model = copy.deepcopy(pretrained)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
model.fc = nn.Linear(64, 3)
criterion = nn.CrossEntropyLoss()
loaders = {"train": DataLoader(pictures(240, 0), 24, shuffle=True), "val": DataLoader(pictures(120, 1), 60)}
print(sum(p.numel() for p in model.parameters()), "parameters")

for epoch in range(5):
    model.train()
    for x, y in loaders["train"]:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    good = 0
    with torch.no_grad():
        for x, y in loaders["val"]:
            good += (model(x).argmax(1) == y).sum().item()
    print(f"epoch {epoch} loss {loss.item():.3f} val acc {good / 120:.3f}")
