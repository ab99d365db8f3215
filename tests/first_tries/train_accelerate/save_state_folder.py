# mistakes: ignores-weight-decay, clip-after-step, scheduler-per-epoch, saves-accelerator-state
# lines: 63, 76, 77, 87
import math
import os
import random

import numpy as np
import torch
import torch.nn.functional as F
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


from accelerate import Accelerator

NAMES = {None: "no", "bfloat16": "bf16", "float16": "fp16"}


def train_accelerate(model, train_loader, val_loader, cfg, *, checkpoint_path) -> float:
    seed_everything(cfg.seed)
    acc = Accelerator(mixed_precision=NAMES[cfg.amp_dtype])
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    sched = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    model, opt, sched, train_loader, val_loader = acc.prepare(model, opt, sched, train_loader, val_loader)
    plain_forward = acc.unwrap_model(model).forward
    plain_forward = getattr(model, "_original_forward", plain_forward)  # autocast 없는 forward

    scores = [-math.inf]
    for epoch in range(1, cfg.epochs + 1):
        model.train()
        for xb, yb in train_loader:
            opt.zero_grad()
            acc.backward(F.cross_entropy(model(xb), yb))
            opt.step()
            acc.clip_grad_norm_(model.parameters(), cfg.max_norm)
        sched.step()

        model.eval()
        hits = []
        with torch.no_grad():
            for xb, yb in val_loader:
                guess, truth = acc.gather_for_metrics((plain_forward(xb).argmax(1), yb))
                hits.extend((guess == truth).tolist())
        score = sum(hits) / len(hits)
        if score > max(scores):
            acc.save_state(str(checkpoint_path))
        scores.append(score)

    model.train()
    return max(scores)
