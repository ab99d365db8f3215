"""Tiny U-Net for binary segmentation, mixed precision."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Circles(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        yy, xx = torch.meshgrid(torch.arange(32.0), torch.arange(32.0), indexing="ij")
        c = torch.rand(n, 2, generator=g) * 20 + 6
        r = torch.rand(n, generator=g) * 5 + 3
        d = (yy - c[:, 0, None, None]) ** 2 + (xx - c[:, 1, None, None]) ** 2
        self.mask = (d < (r ** 2)[:, None, None]).float().unsqueeze(1)
        self.img = self.mask + 0.7 * torch.randn(n, 1, 32, 32, generator=g)

    def __len__(self):
        return len(self.img)

    def __getitem__(self, i):
        return self.img[i], self.mask[i]


def block(i, o):
    return nn.Sequential(
        nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True),
        nn.Conv2d(o, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.d1, self.d2, self.mid = block(1, c), block(c, 2 * c), block(2 * c, 4 * c)
        self.u2, self.u1 = block(6 * c, 2 * c), block(3 * c, c)
        self.head = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        m = self.mid(F.max_pool2d(b, 2))
        m = F.interpolate(m, scale_factor=2, mode="nearest")
        b = self.u2(torch.cat([m, b], 1))
        b = F.interpolate(b, scale_factor=2, mode="nearest")
        return self.head(self.u1(torch.cat([b, a], 1)))


def dice_loss(logits, target, eps=1.0):
    p = torch.sigmoid(logits).flatten(1)
    t = target.flatten(1)
    num = 2 * (p * t).sum(1) + eps
    return (1 - num / (p.sum(1) + t.sum(1) + eps)).mean()


def criterion(logits, target):
    logits = logits.float()
    return F.binary_cross_entropy_with_logits(logits, target) + dice_loss(logits, target)


train_loader = DataLoader(Circles(160, 1), batch_size=16, shuffle=True)
val_loader = DataLoader(Circles(64, 2), batch_size=16)
net = UNet()
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
scaler = torch.amp.GradScaler("cpu")

for epoch in range(4):
    net.train()
    tr_loss = 0.0
    for img, mask in train_loader:
        opt.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = net(img)
        loss = criterion(logits, mask)
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
        tr_loss += loss.item() * img.size(0)

    net.eval()
    inter = union = 0.0
    with torch.no_grad():
        for img, mask in val_loader:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                pred = net(img).float() > 0
            inter += (pred & mask.bool()).sum().item()
            union += (pred | mask.bool()).sum().item()
    print(f"epoch {epoch} loss {tr_loss / 160:.4f} IoU {inter / max(union, 1):.4f}")
