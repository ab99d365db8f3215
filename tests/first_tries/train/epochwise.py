# mistakes: leaves-eval-mode, scheduler-per-epoch, mean-of-batch-means, returns-last-accuracy
# lines: 59, 78, 86, 89
import math
import os
import random
from dataclasses import asdict, is_dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


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
        self.path = os.fspath(path)
        self.best = None

    def update(self, score, *, model, opt, scheduler, step, config):
        score = float(score)
        if math.isnan(score) or (self.best is not None and score <= self.best):
            return False
        config = asdict(config) if is_dataclass(config) else dict(config)
        state = {"model": model.state_dict(), "optimizer": opt.state_dict(), "scheduler": scheduler.state_dict()}
        torch.save({**state, "step": step, "score": score, "config": config}, self.path + ".tmp")
        os.replace(self.path + ".tmp", self.path)
        self.best = score
        return True


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    seed_everything(cfg.seed)
    model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    sched = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    saver = BestCheckpoint(checkpoint_path)
    amp = getattr(torch, cfg.amp_dtype) if cfg.amp_dtype else None
    scaler = torch.amp.GradScaler(torch.device(device).type) if amp is torch.float16 else None
    criterion = nn.CrossEntropyLoss()
    n_step = 0
    model.train()
    for epoch in range(cfg.epochs):
        for xb, yb in train_loader:
            xb, yb = xb.to(device), yb.to(device)
            opt.zero_grad()
            with torch.autocast(xb.device.type, amp, enabled=amp is not None):
                loss = criterion(model(xb), yb)
            if scaler is not None:
                scaler.scale(loss).backward()
                scaler.unscale_(opt)
            else:
                loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            if scaler is not None:
                scaler.step(opt)
                scaler.update()
            else:
                opt.step()
            n_step += 1
        sched.step()
        # 검증
        model.eval()
        accs = []
        with torch.no_grad():
            for xb, yb in val_loader:
                xb, yb = xb.to(device), yb.to(device)
                accs.append((model(xb).argmax(dim=1) == yb).float().mean().item())
        acc = sum(accs) / len(accs)
        saver.update(acc, model=model, opt=opt, scheduler=sched, step=n_step, config=cfg)
    model.train()
    return acc
