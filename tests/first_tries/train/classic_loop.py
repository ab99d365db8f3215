# mistakes: leaves-eval-mode, scheduler-per-epoch, mean-of-batch-means, returns-last-accuracy
# lines: 69, 82, 90, 96
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


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    seed_everything(cfg.seed)
    model = model.to(device)
    device_type = torch.device(device).type
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(optimizer, cfg.warmup_steps, cfg.total_steps)
    checkpoint = BestCheckpoint(checkpoint_path)

    use_amp = cfg.amp_dtype is not None
    amp_dtype = getattr(torch, cfg.amp_dtype) if use_amp else None
    scaler = torch.amp.GradScaler(device_type, enabled=cfg.amp_dtype == "float16")

    global_step = 0
    model.train()
    for epoch in range(cfg.epochs):
        for inputs, targets in train_loader:
            inputs, targets = inputs.to(device), targets.to(device)
            optimizer.zero_grad()
            with torch.autocast(device_type, dtype=amp_dtype, enabled=use_amp):
                loss = F.cross_entropy(model(inputs), targets)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            clip_grad_norm_(model.parameters(), cfg.max_norm)
            scaler.step(optimizer)
            scaler.update()
            global_step += 1
        scheduler.step()

        model.eval()
        batch_acc = []
        with torch.no_grad():
            for inputs, targets in val_loader:
                inputs, targets = inputs.to(device), targets.to(device)
                batch_acc.append((model(inputs).argmax(dim=1) == targets).float().mean().item())
        val_acc = sum(batch_acc) / len(batch_acc)
        checkpoint.update(
            val_acc, model=model, opt=optimizer, scheduler=scheduler, step=global_step, config=cfg
        )
        print(f"epoch {epoch + 1}: val acc {val_acc:.4f}")
    model.train()
    return val_acc
