# mistakes: ignores-weight-decay, scheduler-per-epoch, mean-of-batch-means, leaves-eval-mode
# lines: 56, 78, 86, 89
import math
import os
import random

import numpy as np
import torch
from torch import nn


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    return torch.Generator().manual_seed(seed)


def warmup_cosine(opt, warmup_steps, total_steps):
    def scale(k):
        if k < warmup_steps:
            return (k + 1) / warmup_steps
        if k >= total_steps:
            return 0.0
        return 0.5 * (1 + math.cos(math.pi * (k - warmup_steps) / (total_steps - warmup_steps)))

    return torch.optim.lr_scheduler.LambdaLR(opt, scale)


class BestCheckpoint:
    def __init__(self, path):
        self.path = str(path)
        self.best = None

    def update(self, score, *, model, opt, scheduler, step, config):
        score = float(score)
        if math.isnan(score) or (self.best is not None and score <= self.best):
            return False
        state = {
            "model": model.state_dict(),
            "optimizer": opt.state_dict(),
            "scheduler": scheduler.state_dict(),
            "step": step,
            "score": score,
            "config": config if isinstance(config, dict) else config.to_dict(),
        }
        torch.save(state, self.path + ".tmp")
        os.replace(self.path + ".tmp", self.path)
        self.best = score
        return True


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    seed_everything(cfg.seed)
    model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    sched = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    saver = BestCheckpoint(checkpoint_path)
    ce = nn.CrossEntropyLoss()
    dev = torch.device(device).type
    dtype = getattr(torch, cfg.amp_dtype) if cfg.amp_dtype else torch.bfloat16
    scaler = torch.amp.GradScaler(dev, enabled=cfg.amp_dtype == "float16")
    step = 0
    best = 0.0
    for epoch in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            xb, yb = xb.to(device), yb.to(device)
            opt.zero_grad()
            with torch.autocast(dev, dtype, enabled=cfg.amp_dtype is not None):
                loss = ce(model(xb), yb)
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            scaler.step(opt)
            scaler.update()
            step += 1
        sched.step()

        model.eval()
        accs = []
        with torch.no_grad():
            for xb, yb in val_loader:
                xb, yb = xb.to(device), yb.to(device)
                accs.append((model(xb).argmax(1) == yb).float().mean().item())
        acc = sum(accs) / len(accs)
        best = max(best, acc)
        saver.update(acc, model=model, opt=opt, scheduler=sched, step=step, config=cfg)
    return best
