# mistakes: missing-seed, zero-grad-once, mean-of-batch-means, epoch-saved-as-step, validates-under-autocast
# lines: 58, 68, 84, 86, 81
# hidden:
import math
import os
import random
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR


def seed_everything(seed) -> torch.Generator:
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    return torch.Generator().manual_seed(seed)


def warmup_cosine(opt, warmup_steps, total_steps):
    def factor(k):
        if k >= total_steps:
            return 0.0
        if k < warmup_steps:
            return (k + 1) / warmup_steps
        return 0.5 * (1 + math.cos(math.pi * (k - warmup_steps) / (total_steps - warmup_steps)))

    return LambdaLR(opt, factor)


class BestCheckpoint:
    def __init__(self, path):
        self.path = Path(path)
        self.best = -math.inf

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        score = float(score)
        if not score > self.best:
            return False
        state = {
            "model": model.state_dict(),
            "optimizer": opt.state_dict(),
            "scheduler": scheduler.state_dict(),
            "step": step,
            "score": score,
            "config": config if isinstance(config, dict) else config.to_dict(),
        }
        temporary = self.path.with_name(self.path.name + ".tmp")
        torch.save(state, temporary)
        os.replace(temporary, self.path)
        self.best = score
        return True


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    model.to(device)
    kind = torch.device(device).type
    dt = None if cfg.amp_dtype is None else getattr(torch, cfg.amp_dtype)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    sched = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    scaler = torch.amp.GradScaler(kind, enabled=dt is torch.float16)  # 꺼져 있으면 아무 일도 안 한다
    ckpt = BestCheckpoint(checkpoint_path)
    best = 0.0
    for ep in range(1, cfg.epochs + 1):
        model.train()
        opt.zero_grad()
        for xb, yb in train_loader:
            xb, yb = xb.to(device), yb.to(device)
            with torch.autocast(kind, dtype=dt, enabled=dt is not None):
                loss = F.cross_entropy(model(xb), yb)
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            scaler.step(opt)
            scaler.update()
            sched.step()
        model.eval()
        accs = []
        with torch.no_grad(), torch.autocast(kind, dtype=dt, enabled=dt is not None):
            for xb, yb in val_loader:
                xb, yb = xb.to(device), yb.to(device)
                accs.append((model(xb).argmax(1) == yb).float().mean().item())
        acc = sum(accs) / len(accs)
        ckpt.update(acc, model=model, opt=opt, scheduler=sched, step=ep, config=cfg)
        best = max(best, acc)
    model.train()
    return best
