"""Linear probe + small neck on a frozen feature extractor. The extractor is only loaded, never trained here."""
import argparse
import io

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Extractor(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 24, 3, stride=2)
        self.bn = nn.BatchNorm2d(24)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x))).flatten(1)


class Probe(nn.Module):
    def __init__(self, extractor, classes=4):
        super().__init__()
        self.extractor = extractor
        self.neck = nn.Linear(24 * 9, 32)
        self.norm = nn.LayerNorm(32)
        self.head = nn.Linear(32, classes)
        for p in self.extractor.parameters():
            p.requires_grad = False

    def train(self, mode=True):
        super().train(mode)
        self.extractor.eval()          # running statistics must not move
        return self

    def forward(self, x):
        with torch.no_grad():
            f = self.extractor(x)
        return self.head(F.gelu(self.norm(self.neck(f))))


def pictures(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    x = torch.randn(n, 1, 8, 8, generator=g)
    for i, k in enumerate(y.tolist()):
        r, c = 4 * (k // 2), 4 * (k % 2)
        x[i, 0, r:r + 4, c:c + 4] += 0.8
    return TensorDataset(x, y)


def pretrained_weights():
    torch.manual_seed(100)
    buffer = io.BytesIO()
    torch.save(Extractor().state_dict(), buffer)
    buffer.seek(0)
    return torch.load(buffer)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=7)
    ap.add_argument("--head-lr", type=float, default=5e-3)
    ap.add_argument("--neck-lr", type=float, default=2e-3)
    args = ap.parse_args()
    extractor = Extractor()
    extractor.load_state_dict(pretrained_weights())
    torch.manual_seed(0)
    model = Probe(extractor)
    optimizer = torch.optim.AdamW([
        {"params": model.head.parameters(), "lr": args.head_lr},
        {"params": model.neck.parameters(), "lr": args.neck_lr},
        {"params": model.norm.parameters(), "lr": args.neck_lr, "weight_decay": 0.0},
    ], weight_decay=0.01)
    train_loader = DataLoader(pictures(480, 0), batch_size=32, shuffle=True, drop_last=True)
    val_loader = DataLoader(pictures(250, 1), batch_size=125)
    for epoch in range(args.epochs):
        model.train()
        running = 0.0
        for x, y in train_loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        model.eval()
        with torch.no_grad():
            acc = sum((model(x).argmax(1) == y).sum().item() for x, y in val_loader) / 250
        print(f"epoch {epoch} loss {running / len(train_loader):.4f} val acc {acc:.4f}")


if __name__ == "__main__":
    main()
