# mistakes: missing-seed, no-clip, saves-last, not-atomic
# lines: 51, 67, 80, 80
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
    accelerator = Accelerator(mixed_precision={"bfloat16": "bf16", "float16": "fp16"}.get(cfg.amp_dtype, "no"))
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    model, opt, train_loader, val_loader, scheduler = accelerator.prepare(
        model, opt, train_loader, val_loader, scheduler
    )
    best = 0.0
    steps = 0
    for epoch in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            xb, yb = xb.to(accelerator.device), yb.to(accelerator.device)
            opt.zero_grad()
            with accelerator.autocast():
                loss = nn.functional.cross_entropy(model(xb), yb)
            accelerator.backward(loss)
            opt.step()
            scheduler.step()
            steps += 1
        model.eval()
        right, total = 0, 0
        with torch.no_grad():
            for xb, yb in val_loader:
                xb, yb = xb.to(accelerator.device), yb.to(accelerator.device)
                pred, yb = accelerator.gather_for_metrics((model(xb).argmax(dim=1), yb))
                right += (pred == yb).sum().item()
                total += len(yb)
        acc = right / total
        best = max(best, acc)
        torch.save(
            {
                "model": accelerator.unwrap_model(model).state_dict(),
                "optimizer": opt.state_dict(),
                "scheduler": scheduler.state_dict(),
                "step": steps,
                "score": acc,
                "config": asdict(cfg),
            },
            checkpoint_path,
        )
    model.train()
    return best
