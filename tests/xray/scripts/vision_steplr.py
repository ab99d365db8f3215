import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import MultiStepLR
from torch.utils.data import DataLoader, TensorDataset


class SmallCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(32)
        self.drop = nn.Dropout(0.5)
        self.fc = nn.Linear(32 * 4, 6)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        return self.fc(self.drop(x.flatten(1)))


def colored_patches(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 6, (n,), generator=g)
    x = torch.randn(n, 3, 8, 8, generator=g)
    for i, k in enumerate(y.tolist()):
        ch, half = k % 3, k // 3
        x[i, ch, :, 4 * half:4 * half + 4] += 0.45
    return TensorDataset(x, y)


def validate(model, loader):
    model.eval()
    loss, correct = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            loss += F.cross_entropy(out, y, reduction="sum").item()
            correct += (out.argmax(1) == y).sum().item()
    n = len(loader.dataset)
    return loss / n, correct / n


def train(model, train_loader, val_loader, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    scheduler = MultiStepLR(optimizer, milestones=[1, 8], gamma=0.2)
    model.train()
    step = 0
    for epoch in range(epochs):
        scheduler.step()
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            step += 1
            if step % 24 == 0:
                # 중간 점검
                vl, va = validate(model, val_loader)
                print(f"step {step} train {loss.item():.3f} val {vl:.4f} acc {va:.4f} "
                      f"lr {optimizer.param_groups[0]['lr']:.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    net = SmallCNN()
    train(net, DataLoader(colored_patches(240, 0), batch_size=20, shuffle=True),
          DataLoader(colored_patches(300, 1), batch_size=150), epochs=12)
