"""MLP-Mixer on synthetic patches; weight decay only for matrices."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class MixerLayer(nn.Module):
    def __init__(self, patches, dim):
        super().__init__()
        self.ln1 = nn.LayerNorm(dim)
        self.token = nn.Sequential(nn.Linear(patches, 32), nn.GELU(), nn.Linear(32, patches))
        self.ln2 = nn.LayerNorm(dim)
        self.channel = nn.Sequential(nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, dim))

    def forward(self, x):
        x = x + self.token(self.ln1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channel(self.ln2(x))


class Mixer(nn.Module):
    def __init__(self, patches=9, patch_dim=12, dim=32, depth=2, classes=4):
        super().__init__()
        self.embed = nn.Linear(patch_dim, dim)
        self.layers = nn.Sequential(*[MixerLayer(patches, dim) for _ in range(depth)])
        self.ln = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        return self.head(self.ln(self.layers(self.embed(x))).mean(1))


def param_groups(model, weight_decay):
    decay, no_decay = [], []
    for name, p in model.named_parameters():
        if "norm" in name or "bias" in name:
            no_decay.append(p)
        else:
            decay.append(p)
    return [{"params": decay, "weight_decay": weight_decay}, {"params": no_decay, "weight_decay": 0.0}]


def make_data(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 9, 12, generator=g)
    y = torch.randint(0, 4, (n,), generator=g)
    pos = torch.randint(0, 8, (n,), generator=g)
    rows = torch.arange(n)
    x[rows, pos, y] += 2.5
    x[rows, pos + 1, (y + 1) % 4] += 2.5
    return x, y


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--wd", type=float, default=0.5)
    args = parser.parse_args()
    torch.manual_seed(0)
    x, y = make_data(800, 0)
    xv, yv = make_data(400, 1)
    model = Mixer()
    optimizer = torch.optim.AdamW(param_groups(model, args.wd), lr=args.lr)
    total = args.epochs * math.ceil(len(x) / 50)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=args.lr, total_steps=total)
    for epoch in range(args.epochs):
        model.train()
        epoch_loss = 0
        for idx in torch.randperm(len(x)).split(50):
            loss = F.cross_entropy(model(x[idx]), y[idx], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            epoch_loss += loss
        model.eval()
        with torch.no_grad():
            out = model(xv)
        print(f"epoch {epoch} loss {epoch_loss / 16:.4f} val loss {F.cross_entropy(out, yv).item():.4f} "
              f"acc {(out.argmax(1) == yv).float().mean().item():.4f}")
    scales = torch.cat([m.weight.detach() for m in model.modules() if isinstance(m, nn.LayerNorm)])
    print(f"mean LayerNorm scale {scales.mean().item():.4f}")


if __name__ == "__main__":
    main()
