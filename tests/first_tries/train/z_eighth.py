# mistakes: mean-of-batch-means, leaves-eval-mode, returns-last-accuracy, missing-seed
# lines: 78, 82, 91, 45
# hidden:
import math
import os

import torch
import torch.nn.functional as F


def warmup_cosine(opt, warmup_steps, total_steps):
    def factor(k):
        if k < warmup_steps:
            return (k + 1) / warmup_steps
        if k >= total_steps:
            return 0.0
        return 0.5 * (1 + math.cos(math.pi * (k - warmup_steps) / (total_steps - warmup_steps)))

    return torch.optim.lr_scheduler.LambdaLR(opt, factor)


class BestCheckpoint:
    def __init__(self, path):
        self.path = str(path)
        self.best = None

    def update(self, score, *, model, opt, scheduler, step, config):
        if math.isnan(score) or (self.best is not None and score <= self.best):
            return False
        data = {
            "model": model.state_dict(),
            "optimizer": opt.state_dict(),
            "scheduler": scheduler.state_dict(),
            "step": step,
            "score": score,
            "config": config if isinstance(config, dict) else config.to_dict(),
        }
        torch.save(data, self.path + ".tmp")
        os.replace(self.path + ".tmp", self.path)
        self.best = score
        return True


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    model.to(device)
    device_type = torch.device(device).type
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    amp_dtype = None if cfg.amp_dtype is None else getattr(torch, cfg.amp_dtype)
    scaler = torch.amp.GradScaler(device_type) if amp_dtype == torch.float16 else None
    checkpoint = BestCheckpoint(checkpoint_path)

    def update(xb, yb):
        """한 번 업데이트하고, 정말 업데이트했는지를 돌려준다"""
        opt.zero_grad()
        with torch.autocast(device_type, dtype=amp_dtype, enabled=amp_dtype is not None):
            loss = F.cross_entropy(model(xb), yb)
        if scaler is None:
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            opt.step()
            return True
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
        scale_before = scaler.get_scale()
        scaler.step(opt)
        scaler.update()
        return scaler.get_scale() >= scale_before

    def measure():
        model.eval()
        accuracies = []
        with torch.no_grad():
            for xb, yb in val_loader:
                predicted = model(xb.to(device)).argmax(dim=-1)
                accuracies.append((predicted == yb.to(device)).float().mean().item())
        return sum(accuracies) / len(accuracies)

    step = 0
    model.train()
    for epoch in range(cfg.epochs):
        for xb, yb in train_loader:
            if update(xb.to(device), yb.to(device)):
                step += 1
                scheduler.step()
        accuracy = measure()
        checkpoint.update(accuracy, model=model, opt=opt, scheduler=scheduler, step=step, config=cfg)

    model.train()
    return accuracy
