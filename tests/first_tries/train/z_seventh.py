# mistakes: leaves-eval-mode, mean-of-batch-means, epoch-saved-as-step, missing-seed
# lines: 86, 82, 90, 47
# hidden:
import math
import os
from contextlib import nullcontext

import torch
import torch.nn.functional as F


def warmup_cosine(opt, warmup_steps, total_steps):
    def scale(k):
        if k >= total_steps:
            return 0.0
        if k < warmup_steps:
            return (k + 1) / warmup_steps
        return 0.5 * (1 + math.cos(math.pi * (k - warmup_steps) / (total_steps - warmup_steps)))

    return torch.optim.lr_scheduler.LambdaLR(opt, scale)


class BestCheckpoint:
    def __init__(self, path):
        self.path = str(path)
        self.best = None

    def update(self, score, *, model, opt, scheduler, step, config):
        score = float(score)
        if math.isnan(score) or (self.best is not None and score <= self.best):
            return False
        contents = {
            "model": model.state_dict(),
            "optimizer": opt.state_dict(),
            "scheduler": scheduler.state_dict(),
            "step": step,
            "score": score,
            "config": config if isinstance(config, dict) else config.to_dict(),
        }
        torch.save(contents, self.path + ".tmp")
        os.replace(self.path + ".tmp", self.path)
        self.best = score
        return True


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    keeper = BestCheckpoint(checkpoint_path)
    device_type = torch.device(device).type
    scaler = torch.amp.GradScaler(device_type) if cfg.amp_dtype == "float16" else None

    def precision():
        if cfg.amp_dtype is None:
            return nullcontext()
        return torch.autocast(device_type=device_type, dtype=getattr(torch, cfg.amp_dtype))

    def one_update(xb, yb):
        opt.zero_grad()
        with precision():
            loss = F.cross_entropy(model(xb), yb)
        if scaler is not None:
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            scaler.step(opt)
            scaler.update()
        else:
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            opt.step()
        scheduler.step()

    @torch.no_grad()
    def accuracy():
        model.eval()
        batch_accuracies = []
        for xb, yb in val_loader:
            guess = model(xb.to(device)).argmax(dim=-1)
            batch_accuracies.append((guess == yb.to(device)).float().mean().item())
        return sum(batch_accuracies) / len(batch_accuracies)

    best = 0.0
    model.train()
    for epoch in range(cfg.epochs):
        for xb, yb in train_loader:
            one_update(xb.to(device), yb.to(device))
        score = accuracy()
        keeper.update(score, model=model, opt=opt, scheduler=scheduler, step=epoch + 1, config=cfg)
        best = max(best, score)
    return best
