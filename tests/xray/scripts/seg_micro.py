"""Foreground segmentation on toy images.

A batch is cut into micro-batches so that it fits into memory; gradients add up to
the mean over the batch.
"""
from dataclasses import dataclass
import torch
from torch import nn
import torch.nn.functional as F


@dataclass
class Config:
    batch: int = 32
    micro: int = 1
    epochs: int = 8
    lr: float = 0.01
    width: int = 8
    images: int = 192


class ConvBN(nn.Sequential):
    def __init__(self, cin, cout):
        super().__init__(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU())


class TinySeg(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.down = ConvBN(1, w)
        self.mid = ConvBN(w, w)
        self.up = ConvBN(2 * w, w)
        self.out = nn.Conv2d(w, 1, 1)

    def forward(self, x):
        a = self.down(x)
        b = F.interpolate(self.mid(F.max_pool2d(a, 2)), scale_factor=2)
        return self.out(self.up(torch.cat([a, b], 1)))


def toy(n, seed, size=12):
    """pixels hotter than an absolute threshold are foreground; exposure differs per image"""
    g = torch.Generator().manual_seed(seed)
    field = F.interpolate(torch.randn(n, 1, 4, 4, generator=g), size=size, mode="bilinear")
    exposure = torch.randn(n, 1, 1, 1, generator=g) * 1.5
    img = field + exposure
    mask = (img > 0.3).float()
    return img + 0.1 * torch.randn(img.shape, generator=g), mask


def iou(net, x, y):
    net.eval()
    with torch.no_grad():
        p = net(x) > 0
    inter = (p & (y > 0)).sum().item()
    union = (p | (y > 0)).sum().item()
    return inter / union


def run(cfg: Config):
    torch.manual_seed(5)
    x, y = toy(cfg.images, 0)
    vx, vy = toy(96, 1)
    net = TinySeg(cfg.width)
    opt = torch.optim.Adam(net.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        net.train()
        total = 0.0
        for ids in torch.randperm(cfg.images).split(cfg.batch):
            opt.zero_grad()
            for part in ids.split(cfg.micro):
                loss = F.binary_cross_entropy_with_logits(net(x[part]), y[part])
                (loss * len(part) / len(ids)).backward()
                total += loss.item() * len(part)
            opt.step()
        score = iou(net, vx, vy)
        print(f"{epoch}: loss {total / cfg.images:.4f}  val IoU {score:.4f}")
    return score


if __name__ == "__main__":
    result = run(Config())
