# mistakes: unlisted(does not hand amp_dtype to Accelerator), ignores-max-norm, missing-eval-mode, mean-of-batch-means
# lines: 59, 74, 80, 84
# hidden:
import math
import os
import random
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from accelerate import Accelerator


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


def train_accelerate(model, train_loader, val_loader, cfg, *, checkpoint_path) -> float:
    seed_everything(cfg.seed)
    accelerator = Accelerator()
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    model, opt, scheduler, train_loader, val_loader = accelerator.prepare(
        model, opt, scheduler, train_loader, val_loader
    )
    checkpoint = BestCheckpoint(checkpoint_path)
    best, step = 0.0, 0

    for epoch in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            opt.zero_grad()
            loss = F.cross_entropy(model(xb), yb)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            scheduler.step()
            step += 1

        scores = []
        with torch.no_grad():
            for xb, yb in val_loader:
                predicted, yb = accelerator.gather_for_metrics((model(xb).argmax(dim=1), yb))
                scores.append((predicted == yb).float().mean().item())
        accuracy = sum(scores) / len(scores)
        checkpoint.update(
            accuracy,
            model=accelerator.unwrap_model(model),
            opt=opt,
            scheduler=scheduler,
            step=step,
            config=cfg,
        )
        best = max(best, accuracy)

    return best
