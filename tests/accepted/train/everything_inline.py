import math
import os
import random

import numpy as np
import torch
from torch import nn


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path):
    random.seed(cfg.seed)
    np.random.seed(cfg.seed)
    torch.manual_seed(cfg.seed)
    device = torch.device(device)
    model = model.to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)

    def lr_lambda(k):
        if k < cfg.warmup_steps:
            return (k + 1) / cfg.warmup_steps
        if k >= cfg.total_steps:
            return 0.0
        t = (k - cfg.warmup_steps) / (cfg.total_steps - cfg.warmup_steps)
        return 0.5 * (1 + math.cos(math.pi * t))

    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda)
    scaler = torch.amp.GradScaler(device.type) if cfg.amp_dtype == "float16" else None
    best = None
    step = 0
    for epoch in range(1, cfg.epochs + 1):
        model.train()
        for x, y in train_loader:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            if cfg.amp_dtype:
                with torch.autocast(device.type, dtype=getattr(torch, cfg.amp_dtype)):
                    loss = criterion(model(x), y)
            else:
                loss = criterion(model(x), y)
            if scaler is not None:
                scaler.scale(loss).backward()
                scaler.unscale_(optimizer)
            else:
                loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), max_norm=cfg.max_norm)
            if scaler is not None:
                scaler.step(optimizer)
                scaler.update()
            else:
                optimizer.step()
            scheduler.step()
            step += 1
        model.eval()
        hits = torch.zeros((), device=device)
        count = 0
        with torch.inference_mode():
            for x, y in val_loader:
                x, y = x.to(device), y.to(device)
                hits += (model(x).argmax(-1) == y).sum()
                count += y.shape[0]
        acc = hits.item() / count
        if best is None or acc > best:
            best = acc
            torch.save(
                {
                    "model": model.state_dict(),
                    "optimizer": optimizer.state_dict(),
                    "scheduler": scheduler.state_dict(),
                    "step": step,
                    "score": acc,
                    "config": cfg.to_dict(),
                },
                f"{checkpoint_path}.tmp",
            )
            os.replace(f"{checkpoint_path}.tmp", checkpoint_path)
    model.train()
    return best
