import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __init__(self, n, seed):
        self.n, self.seed = n, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 10007 + i)
        mask = torch.zeros(1, 16, 16)
        r, c = torch.randint(0, 10, (2,), generator=g).tolist()
        mask[:, r:r + 6, c:c + 6] = 1
        return mask + 0.4 * torch.randn(1, 16, 16, generator=g), mask


class UNetish(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(1, 8, 3, stride=2, padding=1)
        self.mid = nn.Conv2d(8, 8, 3, padding=1)
        self.up = nn.ConvTranspose2d(8, 8, 2, stride=2)
        self.out = nn.Conv2d(9, 1, 1)

    def forward(self, x):
        h = self.up(self.mid(self.down(x).relu()).relu())
        return self.out(torch.cat([h, x], 1))


def dice_loss(logits, mask, eps=1.0):
    p = logits.sigmoid()
    inter = (p * mask).sum((1, 2, 3))
    return (1 - (2 * inter + eps) / (p.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + eps)).mean()


def train_one_epoch(model, optimizer, loader, epoch, bce):
    model.train()
    running = 0.0
    for image, mask in loader:
        logits = model(image)
        loss = bce(logits, mask) + dice_loss(logits, mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(f"[{epoch}] loss {running / len(loader):.4f}")


torch.manual_seed(0)
net = UNetish()
opt = torch.optim.RAdam(net.parameters(), lr=5e-3)
for e in range(4):
    train_one_epoch(net, opt, DataLoader(Squares(160, 1), batch_size=16, shuffle=True), e, nn.BCEWithLogitsLoss())
