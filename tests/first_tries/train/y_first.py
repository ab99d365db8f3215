# mistakes: mean-of-batch-means, epoch-saved-as-step, scaler-per-epoch
# lines: 54, 93, 74
# hidden:
import math
import os
import random

import numpy as np
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
        payload = dict(
            model=model.state_dict(),
            optimizer=opt.state_dict(),
            scheduler=scheduler.state_dict(),
            step=step,
            score=score,
            config=config if isinstance(config, dict) else config.to_dict(),
        )
        torch.save(payload, self.path + ".part")
        os.replace(self.path + ".part", self.path)
        self.best = score
        return True


@torch.no_grad()
def accuracy(model, loader, device):
    model.eval()
    per_batch = []
    for xb, yb in loader:
        xb, yb = xb.to(device), yb.to(device)
        ok = model(xb).argmax(dim=-1) == yb
        per_batch.append(ok.float().mean().item())
    return sum(per_batch) / len(per_batch)


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    random.seed(cfg.seed)
    np.random.seed(cfg.seed)
    torch.manual_seed(cfg.seed)

    device = torch.device(device)
    model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    sched = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    keeper = BestCheckpoint(checkpoint_path)

    use_amp = cfg.amp_dtype is not None
    dtype = getattr(torch, cfg.amp_dtype) if use_amp else torch.bfloat16
    best = 0.0

    for epoch in range(cfg.epochs):
        model.train()
        scaler = torch.amp.GradScaler(device.type, enabled=(cfg.amp_dtype == "float16"))

        for xb, yb in train_loader:
            xb, yb = xb.to(device), yb.to(device)
            opt.zero_grad()
            with torch.autocast(device.type, dtype=dtype, enabled=use_amp):
                loss = F.cross_entropy(model(xb), yb)
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)

            old_scale = scaler.get_scale()
            scaler.step(opt)
            scaler.update()
            if scaler.get_scale() >= old_scale:  # 건너뛰지 않았을 때
                sched.step()

        acc = accuracy(model, val_loader, device)
        best = max(best, acc)
        keeper.update(acc, model=model, opt=opt, scheduler=sched, step=epoch + 1, config=cfg)

    model.train()
    return best
