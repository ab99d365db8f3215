import torch
import torch.nn as nn


class PatchNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.fc = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, x):
        return self.fc(self.conv(x))


def loop(images, labels, batch_size, epochs):
    model = PatchNet()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    n = len(images)
    for epoch in range(epochs):
        model.train()
        order = torch.randperm(n)
        loss_sum = 0.0
        for start in range(0, n, batch_size):
            idx = order[start:start + batch_size]
            loss = nn.functional.cross_entropy(model(images[idx]), labels[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            loss_sum += loss.item() * len(idx)
        print(epoch, loss_sum / n)


torch.manual_seed(0)
labels = torch.randint(2, (257,))
images = torch.randn(257, 1, 8, 8) + labels.view(-1, 1, 1, 1)
loop(images, labels, 32, 3)
