# mistakes: validates-under-autocast, epoch-saved-as-step, leaves-eval-mode
# lines: 65, 71, 94
# hidden:
import math
import os
import random

import numpy as np
import torch
import torch.nn.functional as F


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def make_scheduler(opt, warmup_steps, total_steps):
    def factor(k):
        if k < warmup_steps:
            return (k + 1) / warmup_steps
        if k >= total_steps:
            return 0.0
        return 0.5 * (1 + math.cos(math.pi * (k - warmup_steps) / (total_steps - warmup_steps)))

    return torch.optim.lr_scheduler.LambdaLR(opt, factor)


class BestKeeper:
    def __init__(self, path):
        self.path = str(path)
        self.best = None

    def offer(self, score, **parts):
        if self.best is not None and not score > self.best:
            return
        self.best = score
        temporary = self.path + ".tmp"
        torch.save({"score": score, **parts}, temporary)
        os.replace(temporary, self.path)


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    set_seed(cfg.seed)
    model.to(device)
    kind = torch.device(device).type
    amp_dtype = getattr(torch, cfg.amp_dtype) if cfg.amp_dtype else None
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = make_scheduler(opt, cfg.warmup_steps, cfg.total_steps)
    scaler = torch.amp.GradScaler(kind) if amp_dtype is torch.float16 else None
    keeper = BestKeeper(checkpoint_path)

    def forward(xb):
        # 혼합 정밀도면 autocast 안에서
        with torch.autocast(kind, dtype=amp_dtype, enabled=amp_dtype is not None):
            return model(xb)

    def accuracy():
        model.eval()
        right, seen = 0, 0
        with torch.no_grad():
            for xb, yb in val_loader:
                xb, yb = xb.to(device), yb.to(device)
                right += (forward(xb).argmax(dim=1) == yb).sum().item()
                seen += len(yb)
        return right / seen

    for _ in range(cfg.epochs):
        model.train()
        for step, (xb, yb) in enumerate(train_loader, start=1):
            xb, yb = xb.to(device), yb.to(device)
            opt.zero_grad()
            loss = F.cross_entropy(forward(xb).float(), yb)
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
        score = accuracy()
        keeper.offer(
            score,
            model=model.state_dict(),
            optimizer=opt.state_dict(),
            scheduler=scheduler.state_dict(),
            step=step,
            config=cfg.to_dict(),
        )
    return keeper.best
