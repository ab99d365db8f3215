import math
import os
import tempfile
from contextlib import nullcontext

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

cfg = {
    "bs": 32, "accum": 4, "epochs": 8, "max_lr": 1e-2, "clip": 1.0,
    "amp": True, "fp16": False, "alpha": 0.4, "ema": 0.9,
}


def dataset(n, seed):
    g = torch.Generator().manual_seed(seed)
    centres = torch.randn(6, 32, generator=torch.Generator().manual_seed(0))
    y = torch.randint(0, 6, (n,), generator=g)
    return TensorDataset(centres[y] + 1.2 * torch.randn(n, 32, generator=g), y)


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {k: v.detach().clone() for k, v in model.named_parameters()}

    @torch.no_grad()
    def update(self, model):
        for k, v in model.named_parameters():
            self.shadow[k].lerp_(v, 1 - self.decay)

    @torch.no_grad()
    def swap(self, model):
        for k, v in model.named_parameters():
            tmp = v.clone()
            v.copy_(self.shadow[k])
            self.shadow[k].copy_(tmp)


def autocast():
    return torch.autocast("cpu", dtype=torch.bfloat16) if cfg["amp"] else nullcontext()


def mixup(x, y):
    lam = torch.distributions.Beta(cfg["alpha"], cfg["alpha"]).sample().item()
    j = torch.randperm(len(x))
    return lam * x + (1 - lam) * x[j], y, y[j], lam


def main():
    torch.manual_seed(9)
    # 304 samples: the last batch is short and the last window too
    train = DataLoader(dataset(304, 1), batch_size=cfg["bs"], shuffle=True)
    val = DataLoader(dataset(200, 2), batch_size=100)
    model = nn.Sequential(nn.Linear(32, 64), nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 6))
    decay = [p for p in model.parameters() if p.dim() > 1]
    no_decay = [p for p in model.parameters() if p.dim() <= 1]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.05}, {"params": no_decay, "weight_decay": 0.0}],
                            lr=cfg["max_lr"] / 25)
    steps = math.ceil(len(train) / cfg["accum"]) * cfg["epochs"]
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=cfg["max_lr"], total_steps=steps)
    scaler = torch.amp.GradScaler("cpu", enabled=cfg["fp16"])
    ema = EMA(model, cfg["ema"])
    best, path = float("inf"), os.path.join(tempfile.mkdtemp(), "best.pt")

    for epoch in range(cfg["epochs"]):
        model.train()
        batches = list(train)
        total = 0.0
        for start in range(0, len(batches), cfg["accum"]):
            window = batches[start:start + cfg["accum"]]
            n_window = sum(len(y) for _, y in window)
            for x, y in window:
                x, ya, yb, lam = mixup(x, y)
                with autocast():
                    out = model(x)
                    # summed loss over the number of samples in the whole window
                    loss = (lam * F.cross_entropy(out, ya, reduction="sum")
                            + (1 - lam) * F.cross_entropy(out, yb, reduction="sum")) / n_window
                scaler.scale(loss).backward()
                total += loss.item() * n_window
            scaler.unscale_(opt)
            nn.utils.clip_grad_norm_(model.parameters(), cfg["clip"])
            scaler.step(opt)
            scaler.update()
            opt.zero_grad(set_to_none=True)
            sched.step()
            ema.update(model)

        ema.swap(model)
        model.eval()
        with torch.no_grad(), autocast():
            vl = sum(F.cross_entropy(model(x).float(), y, reduction="sum").item() for x, y in val) / 200
        if vl < best:
            best = vl
            torch.save(model.state_dict(), path)
        ema.swap(model)
        print(f"epoch {epoch} train {total / 304:.4f} ema val {vl:.4f} lr {sched.get_last_lr()[0]:.5f}")
    model.load_state_dict(torch.load(path))
    model.eval()
    with torch.no_grad(), autocast():
        acc = sum((model(x).argmax(1) == y).sum().item() for x, y in val) / 200
    print(f"best ema val {best:.4f} acc {acc:.4f}")


main()
