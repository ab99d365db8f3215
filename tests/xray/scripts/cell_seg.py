"""Binary segmentation of bright blobs with mixed precision."""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def blobs(n, size=16, noise=0.8):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    c = torch.randint(3, size - 3, (n, 2))
    r = torch.randint(2, 6, (n,))
    d = (yy[None] - c[:, 0, None, None]) ** 2 + (xx[None] - c[:, 1, None, None]) ** 2
    mask = (d <= r[:, None, None] ** 2).float().unsqueeze(1)
    return mask + noise * torch.randn_like(mask), mask


class MiniUNet(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.down = nn.Conv2d(1, ch, 3, stride=2, padding=1)
        self.mid = nn.Conv2d(ch, ch, 3, padding=1)
        self.up = nn.ConvTranspose2d(ch, ch, 2, stride=2)
        self.head = nn.Conv2d(ch + 1, 1, 3, padding=1)

    def forward(self, x):
        h = F.relu(self.down(x))
        h = F.relu(self.mid(h))
        return self.head(torch.cat([F.relu(self.up(h)), x], 1))


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--precision", choices=["bf16", "fp16"], default="bf16")
    p.add_argument("--lr", type=float, default=5e-3)
    return p.parse_args()


def main():
    args = get_args()
    torch.manual_seed(7)
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}[args.precision]
    xtr, mtr = blobs(240)
    xv, mv = blobs(44)
    xv[40:] += 1.5 * torch.randn_like(xv[40:])  # a few scans from the old microscope
    train = DataLoader(TensorDataset(xtr, mtr), batch_size=20, shuffle=True)
    val = DataLoader(TensorDataset(xv, mv), batch_size=20)
    net = MiniUNet()
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)
    scaler = torch.amp.GradScaler("cpu", enabled=True)

    for epoch in range(args.epochs):
        net.train()
        tot = 0.0
        for x, m in train:
            opt.zero_grad(set_to_none=True)
            with torch.autocast("cpu", dtype=dtype):
                logits = net(x)
            loss = F.binary_cross_entropy_with_logits(logits.float(), m)
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
            tot += loss.item() * len(x)

        net.eval()
        losses = []
        with torch.no_grad():
            for x, m in val:
                losses.append(F.binary_cross_entropy_with_logits(net(x), m).item())
        vloss = sum(losses) / len(losses)
        print(f"epoch {epoch} train {tot / len(xtr):.4f} val {vloss:.4f} scale {scaler.get_scale():.0f}")


if __name__ == "__main__":
    main()
