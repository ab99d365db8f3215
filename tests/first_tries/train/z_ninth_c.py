# mistakes: leaves-eval-mode
# lines: 71
# hidden:
import math
import os
import random

import numpy as np
import torch
from torch import nn


def _seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def _warmup_cosine(opt, warmup, total):
    def scale(k):
        if k < warmup:
            return (k + 1) / warmup
        if k >= total:
            return 0.0
        return 0.5 * (1 + math.cos(math.pi * (k - warmup) / (total - warmup)))

    return torch.optim.lr_scheduler.LambdaLR(opt, scale)


class _Best:
    def __init__(self, path):
        self.path = str(path)
        self.score = None

    def update(self, score, **state):
        if math.isnan(score):
            return False
        if self.score is not None and score <= self.score:
            return False
        self.score = score
        tmp = self.path + ".tmp"
        torch.save({**state, "score": score}, tmp)
        os.replace(tmp, self.path)
        return True


def _accuracy(model, loader, device):
    model.eval()
    right = count = 0
    with torch.no_grad():
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            right += (model(x).argmax(-1) == y).sum().item()
            count += y.numel()
    return right / count


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    _seed(cfg.seed)
    model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    sched = _warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    loss_fn = nn.CrossEntropyLoss()
    kind = torch.device(device).type
    amp = None if cfg.amp_dtype is None else getattr(torch, cfg.amp_dtype)
    scaler = torch.amp.GradScaler(kind, enabled=(amp is torch.float16))
    best = _Best(checkpoint_path)

    step = 0
    model.train()
    for _ in range(cfg.epochs):
        for x, y in train_loader:
            x, y = x.to(device), y.to(device)
            opt.zero_grad()
            with torch.autocast(kind, dtype=amp, enabled=amp is not None):
                loss = loss_fn(model(x), y)
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            scaler.step(opt)
            scaler.update()
            sched.step()
            step += 1

        best.update(
            _accuracy(model, val_loader, device),
            model=model.state_dict(),
            optimizer=opt.state_dict(),
            scheduler=sched.state_dict(),
            step=step,
            config=cfg.to_dict(),
        )

    model.train()  # 학습 모드로 끝낸다
    return best.score
