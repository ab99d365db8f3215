# mistakes: validates-under-autocast, ignores-weight-decay, autocast-with-none, missing-unscale
# lines: 58, 71, 74, 88
import math
import os
import random

import numpy as np
import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR


# 앞의 연습에서 쓴 것들
def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    return torch.Generator().manual_seed(seed)


def warmup_cosine(opt, warmup_steps, total_steps):
    def factor(k):
        if k < warmup_steps:
            return (k + 1) / warmup_steps
        if k >= total_steps:
            return 0.0
        return 0.5 * (1 + math.cos(math.pi * (k - warmup_steps) / (total_steps - warmup_steps)))

    return LambdaLR(opt, factor)


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
            "config": dict(config) if isinstance(config, dict) else config.to_dict(),
        }
        torch.save(state, self.path + ".tmp")
        os.replace(self.path + ".tmp", self.path)
        self.best = score
        return True


def accuracy(model, loader, device, dtype):
    model.eval()
    hits, total = 0, 0
    with torch.no_grad(), torch.autocast(torch.device(device).type, dtype=dtype):
        for xb, yb in loader:
            guess = model(xb.to(device)).argmax(dim=-1)
            hits += (guess == yb.to(device)).sum().item()
            total += yb.shape[0]
    return hits / total


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    seed_everything(cfg.seed)
    model.to(device)
    kind = torch.device(device).type
    criterion = nn.CrossEntropyLoss()
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    keeper = BestCheckpoint(checkpoint_path)
    dtype = torch.float16 if cfg.amp_dtype == "float16" else torch.bfloat16
    scaler = torch.amp.GradScaler(kind) if cfg.amp_dtype == "float16" else None

    best, steps = 0.0, 0
    for _ in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            opt.zero_grad(set_to_none=True)
            with torch.autocast(kind, dtype=dtype):
                loss = criterion(model(xb.to(device)), yb.to(device))
            if scaler:
                scaler.scale(loss).backward()
            else:
                loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            if scaler:
                scaler.step(opt)
                scaler.update()
            else:
                opt.step()
            scheduler.step()
            steps += 1
        acc = accuracy(model, val_loader, device, dtype)
        keeper.update(acc, model=model, opt=opt, scheduler=scheduler, step=steps, config=cfg)
        best = max(best, acc)
    model.train()
    return best
