"""Blob segmentation with a little U-shaped net and the Dice loss."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Blobs(Dataset):
    def __init__(self, n, seed, size=16):
        g = torch.Generator().manual_seed(seed)
        yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
        self.img, self.mask = [], []
        for _ in range(n):
            c = torch.rand(2, generator=g) * (size - 6) + 3
            r = 2 + 2 * torch.rand(1, generator=g)
            m = ((yy - c[0]) ** 2 + (xx - c[1]) ** 2 < r ** 2).float()
            self.img.append((1.1 * m + 0.7 * torch.randn(size, size, generator=g))[None])
            self.mask.append(m[None])

    def __len__(self):
        return len(self.img)

    def __getitem__(self, i):
        return self.img[i], self.mask[i]


class SmallUNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.GroupNorm(2, c), nn.ReLU())
        self.mid = nn.Sequential(nn.Conv2d(c, 2 * c, 3, padding=1), nn.GroupNorm(2, 2 * c), nn.ReLU())
        self.up = nn.Conv2d(3 * c, c, 3, padding=1)
        self.out = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        a = self.down(x)
        b = F.interpolate(self.mid(F.max_pool2d(a, 2)), scale_factor=2, mode="nearest")
        return self.out(F.relu(self.up(torch.cat([a, b], 1))))


class DiceLoss(nn.Module):
    def __init__(self, smooth=1.0, threshold=0.5):
        super().__init__()
        self.smooth, self.threshold = smooth, threshold

    def forward(self, logits, target):
        prob = torch.sigmoid(logits).flatten(1)
        pred = (prob > self.threshold).float()
        target = target.flatten(1)
        inter = (pred * target).sum(1)
        dice = (2 * inter + self.smooth) / (pred.sum(1) + target.sum(1) + self.smooth)
        return (1 - dice.mean()).requires_grad_()


@torch.no_grad()
def iou(net, loader):
    net.eval()
    inter = union = 0.0
    for x, m in loader:
        p = net(x) > 0
        m = m > 0.5
        inter += (p & m).sum().item()
        union += (p | m).sum().item()
    return inter / max(union, 1.0)


def main():
    torch.manual_seed(0)
    train = DataLoader(Blobs(320, 1), batch_size=16, shuffle=True, drop_last=True)
    val = DataLoader(Blobs(100, 2), batch_size=50)
    net, criterion = SmallUNet(), DiceLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    for epoch in range(6):
        net.train()
        total = 0.0
        for x, m in train:
            optimizer.zero_grad()
            loss = criterion(net(x), m)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: dice loss {total / len(train):.4f}, val IoU {iou(net, val):.4f}")


if __name__ == "__main__":
    main()
