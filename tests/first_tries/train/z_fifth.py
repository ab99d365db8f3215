# mistakes: scaler-per-epoch, restores-best-weights, mean-of-batch-means, missing-seed
# lines: 92, 100, 52, 52
# hidden:
import contextlib
import math
import os

import torch
import torch.nn.functional as F


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
        self.path = str(path)
        self.best = None

    def update(self, score, *, model, opt, scheduler, step, config):
        if math.isnan(score) or (self.best is not None and score <= self.best):
            return False
        payload = {
            "model": model.state_dict(),
            "optimizer": opt.state_dict(),
            "scheduler": scheduler.state_dict(),
            "step": step,
            "score": score,
            "config": config if isinstance(config, dict) else config.to_dict(),
        }
        torch.save(payload, self.path + ".tmp")
        os.replace(self.path + ".tmp", self.path)
        self.best = score
        return True


@torch.no_grad()
def measure_accuracy(model, loader, device):
    model.eval()
    scores = []
    for xb, yb in loader:
        guess = model(xb.to(device)).argmax(dim=-1)
        scores.append((guess == yb.to(device)).float().mean().item())
    return sum(scores) / len(scores)


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    model.to(device)
    device_type = torch.device(device).type
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    keeper = BestCheckpoint(checkpoint_path)

    def precision():
        if cfg.amp_dtype is None:
            return contextlib.nullcontext()
        return torch.autocast(device_type, dtype=getattr(torch, cfg.amp_dtype))

    def one_step(xb, yb, scaler):
        """업데이트했으면 1, 오버플로로 건너뛰었으면 0."""
        opt.zero_grad()
        with precision():
            loss = F.cross_entropy(model(xb), yb)
        if scaler is None:
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            opt.step()
            scheduler.step()
            return 1
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
        scale_before = scaler.get_scale()
        scaler.step(opt)
        scaler.update()
        if scaler.get_scale() < scale_before:
            return 0
        scheduler.step()
        return 1

    updates = 0
    for _ in range(cfg.epochs):
        model.train()
        scaler = torch.amp.GradScaler(device_type) if cfg.amp_dtype == "float16" else None
        for xb, yb in train_loader:
            updates += one_step(xb.to(device), yb.to(device), scaler)
        accuracy = measure_accuracy(model, val_loader, device)
        keeper.update(accuracy, model=model, opt=opt, scheduler=scheduler, step=updates, config=cfg)

    # 가장 좋았던 모델로 마무리
    best = torch.load(checkpoint_path, map_location=device, weights_only=True)
    model.load_state_dict(best["model"])
    model.train()
    return keeper.best
