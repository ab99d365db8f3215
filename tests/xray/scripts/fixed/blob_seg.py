import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
CFG = {"epochs": 6, "bs": 16, "lr": 3e-3, "size": 24}


def make_images(n, size):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    cx, cy = torch.randint(5, size - 5, (2, n, 1, 1))
    r = torch.randint(3, 7, (n, 1, 1))
    mask = ((xx - cx) ** 2 + (yy - cy) ** 2 <= r ** 2).float()[:, None]
    return 0.8 * mask + 0.5 * torch.randn(n, 1, size, size), mask


class SmallUNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.enc1 = self.block(1, c)
        self.enc2 = self.block(c, 2 * c)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.dec = self.block(2 * c, c)
        self.out = nn.Conv2d(c, 1, 1)

    @staticmethod
    def block(i, o):
        return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True))

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(self.pool(e1))
        d = self.dec(torch.cat([self.up(e2), e1], dim=1))
        return self.out(d)


train_loader = DataLoader(TensorDataset(*make_images(192, CFG["size"])), batch_size=CFG["bs"], shuffle=True)
val_loader = DataLoader(TensorDataset(*make_images(68, CFG["size"])), batch_size=CFG["bs"])
model = SmallUNet()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=CFG["lr"])

for epoch in range(CFG["epochs"]):
    model.train()
    epoch_loss = 0.0
    for images, masks in train_loader:
        logits = model(images)
        loss = criterion(logits, masks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * len(images)

    model.eval()
    inter, union = 0.0, 0.0
    with torch.no_grad():
        for images, masks in val_loader:
            pred = model(images) > 0.0
            truth = masks > 0.5
            inter += (pred & truth).sum().item()
            union += (pred | truth).sum().item()
    print(f"epoch {epoch} loss {epoch_loss / len(train_loader.dataset):.4f} val IoU {inter / max(union, 1):.4f}")
