# mistakes: scaler-per-epoch, epoch-saved-as-step, leaves-eval-mode, missing-seed
# lines: 71, 89, 51, 61
# hidden:
import math
import os

import torch
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_


def warmup_cosine(opt, warmup_steps, total_steps):
    def f(k):
        if k < warmup_steps:
            return (k + 1) / warmup_steps
        if k >= total_steps:
            return 0.0
        return 0.5 * (1 + math.cos(math.pi * (k - warmup_steps) / (total_steps - warmup_steps)))

    return torch.optim.lr_scheduler.LambdaLR(opt, f)


class BestCheckpoint:
    def __init__(self, path):
        self.path = str(path)
        self.best = -math.inf

    def update(self, score, *, model, opt, scheduler, step, config):
        if not score > self.best:
            return False
        cfg_dict = config if isinstance(config, dict) else config.to_dict()
        tmp = self.path + ".tmp"
        torch.save(
            {
                "model": model.state_dict(),
                "optimizer": opt.state_dict(),
                "scheduler": scheduler.state_dict(),
                "step": step,
                "score": float(score),
                "config": cfg_dict,
            },
            tmp,
        )
        os.replace(tmp, self.path)
        self.best = score
        return True


@torch.no_grad()
def accuracy(model, loader, device):
    model.eval()
    right, n = 0, 0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        right += (model(x).argmax(-1) == y).sum().item()
        n += y.numel()
    return right / n


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    model.to(device)
    dev_type = torch.device(device).type
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    sched = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    keeper = BestCheckpoint(checkpoint_path)
    amp = getattr(torch, cfg.amp_dtype) if cfg.amp_dtype else None
    best = 0.0

    for epoch in range(cfg.epochs):
        model.train()
        scaler = torch.amp.GradScaler(dev_type, enabled=amp is torch.float16)
        n_batches = 0

        for x, y in train_loader:
            x, y = x.to(device), y.to(device)
            opt.zero_grad()
            with torch.autocast(dev_type, dtype=amp, enabled=amp is not None):
                loss = F.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            clip_grad_norm_(model.parameters(), cfg.max_norm)
            scaler.step(opt)
            scaler.update()
            sched.step()
            n_batches += 1

        acc = accuracy(model, val_loader, device)
        best = max(best, acc)
        keeper.update(acc, model=model, opt=opt, scheduler=sched, step=epoch * n_batches, config=cfg)

    return best
