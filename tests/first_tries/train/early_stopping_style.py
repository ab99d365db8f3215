# mistakes: clip-by-value, epoch-saved-as-step, restores-best-weights, leaves-eval-mode
# lines: 82, 100, 106, 107
import math
import os
import random

import numpy as np
import torch
import torch.nn.functional as F
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
    model.to(device)
    dev = torch.device(device).type
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    sched = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    saver = BestCheckpoint(checkpoint_path)
    scaler = torch.amp.GradScaler(dev) if cfg.amp_dtype == "float16" else None

    epoch = 1
    best_acc = -1.0
    while epoch <= cfg.epochs:
        model.train()
        for xb, yb in train_loader:
            xb = xb.to(device)
            yb = yb.to(device)
            opt.zero_grad()
            if cfg.amp_dtype is None:
                loss = F.cross_entropy(model(xb), yb)
            else:
                with torch.autocast(dev, dtype=getattr(torch, cfg.amp_dtype)):
                    loss = F.cross_entropy(model(xb), yb)
            if scaler is not None:
                scaler.scale(loss).backward()
                scaler.unscale_(opt)
            else:
                loss.backward()
            torch.nn.utils.clip_grad_value_(model.parameters(), cfg.max_norm)
            if scaler is not None:
                scaler.step(opt)
                scaler.update()
            else:
                opt.step()
            sched.step()

        # 검증
        model.eval()
        correct = 0
        count = 0
        with torch.no_grad():
            for xb, yb in val_loader:
                out = model(xb.to(device))
                correct += int((out.argmax(1) == yb.to(device)).sum())
                count += len(yb)
        acc = correct / count
        saver.update(acc, model=model, opt=opt, scheduler=sched, step=epoch, config=cfg)
        if acc > best_acc:
            best_acc = acc
        epoch += 1

    # 가장 좋았던 모델로 되돌린다
    model.load_state_dict(torch.load(checkpoint_path, weights_only=True)["model"])
    return best_acc
