import math
import os
import random
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F


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


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    seed_everything(cfg.seed)
    device = torch.device(device)
    model = model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    keeper = BestCheckpoint(checkpoint_path)
    scaler = torch.amp.GradScaler(device.type, enabled=cfg.amp_dtype == "float16")

    def precision():
        if cfg.amp_dtype is None:
            return nullcontext()
        return torch.autocast(device.type, dtype=getattr(torch, cfg.amp_dtype))

    def update(xb, yb):
        opt.zero_grad()
        with precision():
            loss = F.cross_entropy(model(xb.to(device)), yb.to(device))
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
        scaler.step(opt)
        scaler.update()
        scheduler.step()

    @torch.no_grad()
    def hits():
        for xb, yb in val_loader:
            yield model(xb.to(device)).argmax(dim=1).eq(yb.to(device))

    def epochs():
        step = 0
        for _ in range(cfg.epochs):
            model.train()
            for batch in train_loader:
                update(*batch)
                step += 1
            model.eval()
            score = torch.cat(list(hits())).double().mean().item()
            keeper.update(score, model=model, opt=opt, scheduler=scheduler, step=step, config=cfg)
            yield score
        model.train()

    return max(list(epochs()))
