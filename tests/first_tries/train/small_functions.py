# mistakes: counts-total-steps, missing-eval-mode, divides-by-full-batches, missing-seed
# lines: 59, 65, 66, 70
import math
import os
import random

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_
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


def make_parts(model, cfg, steps_per_epoch, path):
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    total = cfg.epochs * steps_per_epoch
    scheduler = warmup_cosine(opt, cfg.warmup_steps, total)
    return opt, scheduler, BestCheckpoint(path)


@torch.no_grad()
def measure(model, loader, device):
    correct = sum((model(x.to(device)).argmax(1) == y.to(device)).sum().item() for x, y in loader)
    return correct / (len(loader) * loader.batch_size)


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    model.to(device)
    opt, scheduler, checkpoint = make_parts(model, cfg, len(train_loader), checkpoint_path)
    kind = torch.device(device).type
    scaler = torch.amp.GradScaler(kind, enabled=cfg.amp_dtype == "float16")

    def one_batch(x, y):
        opt.zero_grad()
        if cfg.amp_dtype:
            with torch.autocast(kind, dtype={"float16": torch.float16, "bfloat16": torch.bfloat16}[cfg.amp_dtype]):
                loss = F.cross_entropy(model(x), y)
        else:
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        clip_grad_norm_(model.parameters(), cfg.max_norm)
        scaler.step(opt)
        scaler.update()
        scheduler.step()

    done = 0
    history = []
    for _ in range(cfg.epochs):
        model.train()
        for x, y in train_loader:
            one_batch(x.to(device), y.to(device))
            done += 1
        history.append(measure(model, val_loader, device))
        checkpoint.update(history[-1], model=model, opt=opt, scheduler=scheduler, step=done, config=cfg)
    return max(history)
