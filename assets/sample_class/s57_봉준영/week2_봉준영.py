# 2주차 봉준영
# 강의안 + 블로그 보고 작성
import math
import random
import shutil
import tomllib
from dataclasses import asdict, dataclass, fields

import numpy as np
import torch
from torch import nn


@dataclass(frozen=True)
class TrainConfig:
    lr: float = 3e-4
    weight_decay: float = 0.01
    epochs: int = 3
    batch_size: int = 32
    warmup_steps: int = 10
    total_steps: int = 100
    max_norm: float = 1.0
    amp_dtype: str | None = None
    seed: int = 0

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as f:
            d = tomllib.load(f)
        names = {f.name for f in fields(cls)}
        return cls(**{k: v for k, v in d.items() if k in names})

    def to_dict(self):
        return asdict(self)


def warmup_cosine(opt, warmup_steps, total_steps):
    # 블로그: warmup 동안 선형, 그 다음 cosine
    def lr_lambda(current_step):
        if current_step < warmup_steps:
            return float(current_step) / float(max(1, warmup_steps))
        if current_step >= total_steps:
            return 0.0
        return math.cos(math.pi * (current_step - warmup_steps) / (total_steps - warmup_steps))
    return torch.optim.lr_scheduler.LambdaLR(opt, lr_lambda)


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None):
    with torch.autocast(xb.device.type, dtype=dtype):
        logits = model(xb)
        loss = loss_fn(logits, yb)
    if scaler is not None:
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        if max_norm is not None:
            nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(opt)
    else:
        loss.backward()
        if max_norm is not None:
            nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
    return loss.item()


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None):
    if scaler is None:
        scaler = torch.amp.GradScaler(enabled=False)
    opt.zero_grad()
    for xb, yb in micro_batches:
        with torch.autocast(xb.device.type, dtype=dtype):
            loss = loss_fn(model(xb), yb)
        scaler.scale(loss).backward()
    if max_norm is not None:
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(opt)
    scaler.update()
    return loss.item()


class BestCheckpoint:
    def __init__(self, path):
        self.path = path
        self.best = -math.inf

    def update(self, score, *, model, opt, scheduler, step, config):
        if score >= self.best:
            self.best = score
            torch.save({"model": model.state_dict(), "optimizer": opt.state_dict(),
                        "step": step, "score": float(score),
                        "config": config if isinstance(config, dict) else asdict(config)}, f"{self.path}.tmp")
            shutil.move(f"{self.path}.tmp", self.path)
            return True
        return False


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path):
    torch.manual_seed(cfg.seed)
    model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    w, t = cfg.warmup_steps, cfg.total_steps
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda k: (k + 1) / w if k < w else 0.5 * (1 + math.cos(math.pi * min(1.0, (k - w) / (t - w)))))
    amp = getattr(torch, cfg.amp_dtype) if cfg.amp_dtype else torch.float32
    best_acc = 0.0
    for epoch in range(cfg.epochs):
        for xb, yb in train_loader:
            xb, yb = xb.to(device), yb.to(device)
            opt.zero_grad()
            with torch.autocast(str(device).split(":")[0], dtype=amp, enabled=cfg.amp_dtype is not None):
                loss = nn.functional.cross_entropy(model(xb), yb)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            opt.step()
            sched.step()
        correct = n = 0
        with torch.no_grad():
            for xb, yb in val_loader:
                correct += (model(xb.to(device)).argmax(1) == yb.to(device)).sum().item()
                n += len(yb)
        if correct / n > best_acc:
            best_acc = correct / n
            # 저장
            torch.save({"model": model.state_dict(), "optimizer": opt.state_dict(), "scheduler": sched.state_dict(),
                        "step": (epoch + 1) * len(train_loader), "score": best_acc, "config": cfg.to_dict()}, checkpoint_path)
    return best_acc
