# mistakes: missing-seed, leaves-eval-mode, no-clip
# lines: 56, 77, 73
import math
import os
import random
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from accelerate import Accelerator


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


def train_accelerate(model, train_loader, val_loader, cfg, *, checkpoint_path) -> float:
    precision = {None: "no", "bfloat16": "bf16", "float16": "fp16"}[cfg.amp_dtype]
    accelerator = Accelerator(mixed_precision=precision)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    model, opt, train_loader, val_loader, scheduler = accelerator.prepare(
        model, opt, train_loader, val_loader, scheduler
    )
    checkpoint = BestCheckpoint(checkpoint_path)

    best, step = 0.0, 0
    model.train()
    for epoch in range(cfg.epochs):
        for xb, yb in train_loader:
            opt.zero_grad()
            with accelerator.autocast():
                loss = F.cross_entropy(model(xb), yb)
            accelerator.backward(loss)
            opt.step()
            scheduler.step()
            step += 1

        model.eval()
        correct = total = 0
        with torch.no_grad():
            for xb, yb in val_loader:
                pred = model(xb).argmax(dim=1)
                pred, yb = accelerator.gather_for_metrics((pred, yb))
                correct += (pred == yb).sum().item()
                total += len(yb)
        accuracy = correct / total
        best = max(best, accuracy)
        checkpoint.update(
            accuracy,
            model=accelerator.unwrap_model(model),
            opt=opt,
            scheduler=scheduler,
            step=step,
            config=cfg,
        )
    return best
