# mistakes: missing-unscale, scheduler-per-epoch, mean-of-batch-means, epoch-saved-as-step
# lines: 74, 77, 84, 86
import math
import os
import random
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F


def seed_everything(seed) -> torch.Generator:
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
        self.path, self.best = Path(path), None

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        score = float(score)
        if math.isnan(score) or (self.best is not None and score <= self.best):
            return False
        content = {
            "model": model.state_dict(),
            "optimizer": opt.state_dict(),
            "scheduler": scheduler.state_dict(),
            "step": step,
            "score": score,
            "config": config if isinstance(config, dict) else config.to_dict(),
        }
        temporary = self.path.with_name(self.path.name + ".tmp")
        torch.save(content, temporary)
        os.replace(temporary, self.path)
        self.best = score
        return True


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    seed_everything(cfg.seed)
    model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    saver = BestCheckpoint(checkpoint_path)
    device_type = torch.device(device).type
    use_amp = cfg.amp_dtype is not None
    amp_dtype = getattr(torch, cfg.amp_dtype) if use_amp else torch.bfloat16
    scaler = torch.amp.GradScaler(device_type, enabled=cfg.amp_dtype == "float16")

    best_acc = 0.0
    for epoch in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            xb, yb = xb.to(device), yb.to(device)
            opt.zero_grad()
            with torch.autocast(device_type, dtype=amp_dtype, enabled=use_amp):
                loss = F.cross_entropy(model(xb), yb)
            scaler.scale(loss).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            scaler.step(opt)
            scaler.update()
        scheduler.step()

        model.eval()
        accs = []
        with torch.no_grad():
            for xb, yb in val_loader:
                xb, yb = xb.to(device), yb.to(device)
                accs.append((model(xb).argmax(dim=1) == yb).float().mean().item())
        acc = sum(accs) / len(accs)
        saver.update(acc, model=model, opt=opt, scheduler=scheduler, step=epoch + 1, config=cfg)
        best_acc = max(best_acc, acc)
    model.train()
    return best_acc
