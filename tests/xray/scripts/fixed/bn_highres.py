# 큰 이미지라 GPU 메모리가 부족해서 batch 1 + gradient accumulation
import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def conv_bn(c_in, c_out, stride):
    return nn.Sequential(
        nn.Conv2d(c_in, c_out, 3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(c_out),
        nn.ReLU(inplace=True),
    )


class TextureNet(nn.Module):
    def __init__(self, num_classes=3):
        super().__init__()
        self.features = nn.Sequential(conv_bn(1, 12, 2), conv_bn(12, 24, 2), nn.AdaptiveAvgPool2d(1))
        self.classifier = nn.Linear(24, num_classes)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def textures(n, seed):
    g = torch.Generator().manual_seed(seed)
    label = torch.randint(0, 3, (n,), generator=g)
    # brightness and contrast tell the class (plus noise)
    base = torch.randn(n, 1, 20, 20, generator=g) * (0.6 + 0.5 * label.float())[:, None, None, None]
    base += (label == 2).float()[:, None, None, None] * 0.5
    return TensorDataset(base, label)


def test(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for data, target in loader:
            correct += model(data).argmax(1).eq(target).sum().item()
    return correct / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--accum", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=0.05)
    args = parser.parse_args()
    torch.manual_seed(6)
    train_loader = DataLoader(textures(320, 0), batch_size=16, shuffle=True)
    test_loader = DataLoader(textures(240, 1), batch_size=60)
    model = TextureNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(args.epochs):
        model.train()
        running = 0.0
        optimizer.zero_grad()
        for i, (data, target) in enumerate(train_loader):
            loss = criterion(model(data), target)
            (loss / args.accum).backward()
            running += loss.item()
            if (i + 1) % args.accum == 0:
                optimizer.step()
                optimizer.zero_grad()
        print(f"epoch {epoch} loss {running / len(train_loader):.4f} test acc {test(model, test_loader):.4f}")


if __name__ == "__main__":
    main()
