# mistakes: ignores-weight-decay, scheduler-per-epoch, epoch-saved-as-step, returns-last-accuracy, leaves-eval-mode
# lines: 61, 86, 96, 97, 99
# hidden:
import math
import os
import random
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_


def seed_everything(seed):
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

    return torch.optim.lr_scheduler.LambdaLR(opt, factor)


class BestCheckpoint:
    def __init__(self, path):
        self.path = Path(path)
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
            "config": dict(config) if isinstance(config, dict) else config.to_dict(),
        }
        temporary = self.path.with_name(self.path.name + ".tmp")
        torch.save(state, temporary)
        os.replace(temporary, self.path)
        self.best = score
        return True


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    seed_everything(cfg.seed)
    device = torch.device(device)
    model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    checkpoint = BestCheckpoint(checkpoint_path)

    amp_dtype = getattr(torch, cfg.amp_dtype) if cfg.amp_dtype is not None else None
    scaler = torch.amp.GradScaler(device.type) if amp_dtype is torch.float16 else None

    best_accuracy = 0.0
    for epoch in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            xb, yb = xb.to(device), yb.to(device)
            opt.zero_grad()
            with torch.autocast(device.type, dtype=amp_dtype, enabled=amp_dtype is not None):
                loss = F.cross_entropy(model(xb), yb)
            if scaler is not None:
                scaler.scale(loss).backward()
                scaler.unscale_(opt)
                clip_grad_norm_(model.parameters(), cfg.max_norm)
                scaler.step(opt)
                scaler.update()
            else:
                loss.backward()
                clip_grad_norm_(model.parameters(), cfg.max_norm)
                opt.step()
        scheduler.step()

        model.eval()
        correct, count = 0, 0
        with torch.no_grad():
            for xb, yb in val_loader:
                xb, yb = xb.to(device), yb.to(device)
                correct += (model(xb).argmax(dim=1) == yb).sum().item()
                count += len(yb)
        accuracy = correct / count
        checkpoint.update(accuracy, model=model, opt=opt, scheduler=scheduler, step=epoch + 1, config=cfg)
        best_accuracy = accuracy

    return best_accuracy
