"""Mixed-precision training of a residual MLP (bf16 autocast, gradient scaler, clipping)."""
import argparse
import contextlib

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        return x + self.net(x)


class ResMLP(nn.Module):
    def __init__(self, inp, dim=48, depth=3):
        super().__init__()
        self.stem = nn.Linear(inp, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.out = nn.Linear(dim, 1)

    def forward(self, x):
        x = self.stem(x)
        for b in self.blocks:
            x = b(x)
        return self.out(x).squeeze(-1)


class Engine:
    def __init__(self, model, lr, clip, device="cpu", amp=True):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, nesterov=True)
        self.scaler = torch.amp.GradScaler(device, enabled=amp)
        self.clip = clip
        self.cast = (lambda: torch.autocast(device, dtype=torch.bfloat16)) if amp else contextlib.nullcontext

    def step(self, x, y):
        self.opt.zero_grad(set_to_none=True)
        with self.cast():
            pred = self.model(x)
        loss = nn.functional.smooth_l1_loss(pred.float(), y)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.opt)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.scaler.step(self.opt)
        self.scaler.update()
        return loss.item(), float(norm)

    @torch.no_grad()
    def validate(self, x, y):
        self.model.eval()
        with self.cast():
            pred = self.model(x).float()
        self.model.train()
        return 1 - ((pred - y) ** 2).mean().item() / y.var().item()


def data(n, g):
    x = torch.rand(n, 6, generator=g) * 2 - 1
    y = 2 * torch.sin(3 * x[:, 0]) + x[:, 1] * x[:, 2] * 3 + x[:, 3].abs() + 0.1 * torch.randn(n, generator=g)
    return x, y


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--lr", type=float, default=0.03)
    ap.add_argument("--clip", type=float, default=1.0)
    a = ap.parse_args()
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(9)
    xt, yt = data(2048, g)
    xv, yv = data(1000, g)
    eng = Engine(ResMLP(6), a.lr, a.clip)
    for ep in range(a.epochs):
        losses = []
        for idx in torch.randperm(len(xt)).split(64):
            loss, norm = eng.step(xt[idx], yt[idx])
            losses.append(loss)
        print(f"epoch {ep} loss {sum(losses) / len(losses):.4f} R2 {eng.validate(xv, yv):.4f}")


if __name__ == "__main__":
    main()
