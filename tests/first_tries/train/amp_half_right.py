# mistakes: ignores-weight-decay, missing-unscale, validates-under-autocast, epoch-saved-as-step
# lines: 52, 68, 75, 81
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
    model = model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    scheduler = warmup_cosine(optimizer, cfg.warmup_steps, cfg.total_steps)
    ckpt = BestCheckpoint(checkpoint_path)
    kind = torch.device(device).type
    dtype = {"bfloat16": torch.bfloat16, "float16": torch.float16}.get(cfg.amp_dtype)
    scaler = torch.amp.GradScaler(kind, enabled=dtype == torch.float16)
    best = -1.0
    for epoch in range(cfg.epochs):
        model.train()
        for x, y in train_loader:
            x = x.to(device)
            y = y.to(device)
            optimizer.zero_grad()
            with torch.autocast(kind, dtype=dtype, enabled=dtype is not None):
                loss = F.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()
        model.eval()
        hit = cnt = 0
        with torch.no_grad(), torch.autocast(kind, dtype=dtype, enabled=dtype is not None):
            for x, y in val_loader:
                x, y = x.to(device), y.to(device)
                hit += (model(x).argmax(1) == y).sum().item()
                cnt += len(y)
        score = hit / cnt
        ckpt.update(score, model=model, opt=optimizer, scheduler=scheduler, step=epoch, config=cfg)
        best = max(best, score)
    model.train()
    return best
