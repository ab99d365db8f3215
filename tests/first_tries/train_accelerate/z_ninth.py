# mistakes: unmapped-precision, leaves-eval-mode, mean-of-batch-means
# lines: 42, 58, 62
# hidden:
import dataclasses
import math
import os
import random

import numpy as np
import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.state import AcceleratorState


def _seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def _warmup_cosine(opt, warmup, total):
    def factor(k):
        if k < warmup:
            return (k + 1) / warmup
        if k >= total:
            return 0.0
        return 0.5 * (1 + math.cos(math.pi * (k - warmup) / (total - warmup)))

    return torch.optim.lr_scheduler.LambdaLR(opt, factor)


def _save(path, payload):
    tmp = f"{path}.tmp"
    torch.save(payload, tmp)
    os.replace(tmp, path)


def train_accelerate(model, train_loader, val_loader, cfg, *, checkpoint_path) -> float:
    _seed(cfg.seed)
    AcceleratorState._reset_state()
    accelerator = Accelerator(mixed_precision=cfg.amp_dtype or "no")

    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    sched = _warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    model, opt, train_loader = accelerator.prepare(model, opt, train_loader)

    def one_step(xb, yb):
        loss = F.cross_entropy(model(xb), yb)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), cfg.max_norm)
        opt.step()
        sched.step()
        opt.zero_grad()

    @torch.no_grad()
    def accuracy():
        model.eval()
        scores = []
        for xb, yb in val_loader:
            xb, yb = xb.to(accelerator.device), yb.to(accelerator.device)
            scores.append((model(xb).argmax(-1) == yb).float().mean().item())
        return sum(scores) / len(scores)

    best, step = -1.0, 0
    model.train()
    for _ in range(cfg.epochs):
        for xb, yb in train_loader:
            one_step(xb, yb)
            step += 1
        score = accuracy()
        if score > best:
            best = score
            _save(
                checkpoint_path,
                {
                    "model": accelerator.unwrap_model(model).state_dict(),
                    "optimizer": opt.state_dict(),
                    "scheduler": sched.state_dict(),
                    "step": step,
                    "score": score,
                    "config": cfg if isinstance(cfg, dict) else dataclasses.asdict(cfg),
                },
            )
    model.train()
    return best
