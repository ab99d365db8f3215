import math
import os
import random

import accelerate
import numpy as np
import torch


def factor(k, cfg):
    if k < cfg.warmup_steps:
        return (k + 1) / cfg.warmup_steps
    if k >= cfg.total_steps:
        return 0.0
    return 0.5 * (1 + math.cos(math.pi * (k - cfg.warmup_steps) / (cfg.total_steps - cfg.warmup_steps)))


class BestCheckpoint:
    def __init__(self, path):
        self.path, self.best = str(path), -math.inf

    def update(self, score, *, model, opt, scheduler, step, config):
        if not score > self.best:
            return False
        content = {"model": model.state_dict(), "optimizer": opt.state_dict(), "scheduler": scheduler.state_dict()}
        torch.save({**content, "step": step, "score": score, "config": config.to_dict()}, self.path + ".tmp")
        os.replace(self.path + ".tmp", self.path)
        self.best = score
        return True


def train_accelerate(model, train_loader, val_loader, cfg, *, checkpoint_path):
    random.seed(cfg.seed)
    np.random.seed(cfg.seed)
    torch.manual_seed(cfg.seed)
    acc = accelerate.Accelerator(gradient_accumulation_steps=1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda k: factor(k, cfg))
    model, optimizer, train_loader, val_loader, scheduler = acc.prepare(
        model, optimizer, train_loader, val_loader, scheduler
    )
    keeper = BestCheckpoint(checkpoint_path)
    step = 0
    for epoch in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            with acc.accumulate(model):
                loss = torch.nn.functional.cross_entropy(model(xb), yb)
                acc.backward(loss)
                acc.clip_grad_norm_(model.parameters(), cfg.max_norm)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            step += 1
        model.eval()
        right = n = 0
        for xb, yb in val_loader:
            with torch.no_grad():
                right += (model(xb).argmax(1) == yb).sum().item()
            n += len(yb)
        if acc.is_local_main_process:
            keeper.update(
                right / n,
                model=acc.unwrap_model(model),
                opt=optimizer,
                scheduler=scheduler,
                step=step,
                config=cfg,
            )
    model.train()
    return keeper.best
