# 작은 U-Net, bf16 autocast (scaler 필요 없음)
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Disks(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        yy, xx = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
        c = 4 + 8 * torch.rand(n, 2, 1, 1, generator=g)
        r = 2 + 3 * torch.rand(n, 1, 1, generator=g)
        self.mask = (((xx - c[:, 0]) ** 2 + (yy - c[:, 1]) ** 2) < r ** 2).float()
        self.img = self.mask + 0.5 * torch.randn(n, 16, 16, generator=g)

    def __len__(self):
        return len(self.img)

    def __getitem__(self, i):
        return self.img[i][None], self.mask[i][None]


def double_conv(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.GroupNorm(4, b), nn.ReLU(inplace=True),
                         nn.Conv2d(b, b, 3, padding=1), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1, self.d2 = double_conv(1, 8), double_conv(8, 16)
        self.u1 = double_conv(24, 8)
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        b = F.interpolate(b, scale_factor=2, mode="nearest")
        return self.out(self.u1(torch.cat([a, b], 1)))


def dice_loss(logits, target):
    p = logits.sigmoid().flatten(1)
    t = target.flatten(1)
    return 1 - ((2 * (p * t).sum(1) + 1) / (p.sum(1) + t.sum(1) + 1)).mean()


def iou(model, loader):
    model.eval()
    inter = union = 0.0
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        for img, mask in loader:
            pred = model(img) > 0
            inter += (pred & mask.bool()).sum().item()
            union += (pred | mask.bool()).sum().item()
    return inter / union


torch.manual_seed(0)
train_loader = DataLoader(Disks(192, 0), batch_size=16, shuffle=True)
val_loader = DataLoader(Disks(64, 1), batch_size=32)
net = UNet()
optimizer = torch.optim.Adam(net.parameters(), lr=1.5e-2)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6, eta_min=1e-4)
for epoch in range(6):
    net.train()
    total = 0.0
    for img, mask in train_loader:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = net(img)
        logits = logits.float()
        loss = dice_loss(logits, mask) + F.binary_cross_entropy_with_logits(logits, mask)
        loss.backward()
        optimizer.step()
        total += loss.item()
    scheduler.step()
    print(f"epoch {epoch} loss {total / len(train_loader):.4f} val IoU {iou(net, val_loader):.4f}")
