# mistakes: weight_decay 자리에 cfg.lr을 넣음
# lines: 54
import math
import os
import random
from dataclasses import asdict, is_dataclass

import numpy as np
import torch
import torch.nn.functional as F
from accelerate import Accelerator
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


def train_accelerate(model, train_loader, val_loader, cfg, *, checkpoint_path) -> float:
    seed_everything(cfg.seed)
    precision = {None: "no", "bfloat16": "bf16", "float16": "fp16"}[cfg.amp_dtype]
    accelerator = Accelerator(mixed_precision=precision)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.lr)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    wrapped, opt, train_loader, val_loader, scheduler = accelerator.prepare(
        model, opt, train_loader, val_loader, scheduler
    )
    checkpoint = BestCheckpoint(checkpoint_path)
    best, step = 0.0, 0
    for _ in range(cfg.epochs):
        wrapped.train()
        for xb, yb in train_loader:
            xb, yb = xb.to(accelerator.device), yb.to(accelerator.device)
            opt.zero_grad()
            with accelerator.autocast():
                loss = F.cross_entropy(wrapped(xb), yb)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(wrapped.parameters(), cfg.max_norm)
            opt.step()
            scheduler.step()
            step += 1
        wrapped.eval()
        correct = seen = 0
        with torch.no_grad():
            for xb, yb in val_loader:
                xb, yb = xb.to(accelerator.device), yb.to(accelerator.device)
                guess, yb = accelerator.gather_for_metrics((wrapped(xb).argmax(dim=1), yb))
                correct += (guess == yb).sum().item()
                seen += yb.numel()
        score = correct / seen
        best = max(best, score)
        checkpoint.update(
            score,
            model=accelerator.unwrap_model(wrapped),
            opt=opt,
            scheduler=scheduler,
            step=step,
            config=cfg,
        )
    wrapped.train()
    return best
