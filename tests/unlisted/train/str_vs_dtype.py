# mistakes: 문자열인 cfg.amp_dtype을 torch.float16과 비교해서 float16에서도 scaler가 켜지지 않음
# lines: 57
import math
import os
import random
from dataclasses import asdict, is_dataclass

import numpy as np
import torch
import torch.nn.functional as F
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


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    seed_everything(cfg.seed)
    model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(optimizer, cfg.warmup_steps, cfg.total_steps)
    keeper = BestCheckpoint(checkpoint_path)
    device_type = torch.device(device).type
    scaler = None
    if cfg.amp_dtype == torch.float16:
        scaler = torch.amp.GradScaler(device_type)
    updates = 0
    scores = []
    for epoch in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            xb = xb.to(device)
            yb = yb.to(device)
            optimizer.zero_grad()
            if cfg.amp_dtype:
                with torch.autocast(device_type, getattr(torch, cfg.amp_dtype)):
                    loss = F.cross_entropy(model(xb), yb)
            else:
                loss = F.cross_entropy(model(xb), yb)
            if scaler is None:
                loss.backward()
            else:
                scaler.scale(loss).backward()
                scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            if scaler is None:
                optimizer.step()
            else:
                scaler.step(optimizer)
                scaler.update()
            scheduler.step()
            updates += 1
        model.eval()
        hits = count = 0
        with torch.no_grad():
            for xb, yb in val_loader:
                prediction = model(xb.to(device)).argmax(dim=1).cpu()
                hits += int((prediction == yb.cpu()).sum())
                count += len(yb)
        scores.append(hits / count)
        keeper.update(
            scores[-1], model=model, opt=optimizer, scheduler=scheduler, step=updates, config=cfg
        )
    model.train()
    return max(scores)
