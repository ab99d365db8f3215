# mistakes: unlisted(does not hand amp_dtype to Accelerator), scheduler-per-epoch, missing-eval-mode, divides-by-full-batches
# lines: 60, 78, 82, 87
# hidden:
import math
import os
import random
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from accelerate import Accelerator
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


def train_accelerate(model, train_loader, val_loader, cfg, *, checkpoint_path) -> float:
    seed_everything(cfg.seed)
    accelerator = Accelerator()
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    model, opt, scheduler, train_loader, val_loader = accelerator.prepare(
        model, opt, scheduler, train_loader, val_loader
    )
    checkpoint = BestCheckpoint(checkpoint_path)
    best, updates = 0.0, 0
    for epoch in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            opt.zero_grad()
            with accelerator.autocast():
                loss = F.cross_entropy(model(xb), yb)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), cfg.max_norm)
            opt.step()
            updates += 1
        scheduler.step()

        # 검증: 맞힌 수를 모아서 센다
        correct = 0
        with torch.no_grad():
            for xb, yb in val_loader:
                predicted = model(xb).argmax(dim=1)
                predicted, yb = accelerator.gather_for_metrics((predicted, yb))
                correct += (predicted == yb).sum().item()
        accuracy = correct / (len(val_loader) * cfg.batch_size)
        if accelerator.is_main_process:
            checkpoint.update(
                accuracy,
                model=accelerator.unwrap_model(model),
                opt=opt,
                scheduler=scheduler,
                step=updates,
                config=cfg,
            )
        best = max(best, accuracy)
    return best
