#!/usr/bin/env python3
# -*- coding: utf-8 -*-
"""assignment 2 — 국하람"""
import argparse, math, os, random
import tomllib
from dataclasses import asdict, dataclass, fields
from pathlib import Path
import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_


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

    def __post_init__(self):
        if self.lr <= 0:
            raise ValueError("lr > 0")
        if self.epochs < 1:
            raise ValueError("epochs >= 1")
        if self.batch_size < 1:
            raise ValueError("batch_size >= 1")
        if not (0 < self.warmup_steps < self.total_steps):
            raise ValueError("0 < warmup_steps < total_steps")

    @classmethod
    def from_toml(cls, path):
        values = tomllib.loads(Path(path).read_text())
        extra = set(values) - {f.name for f in fields(cls)}
        if extra:
            raise ValueError(f"{extra}")
        return cls(**values)

    def to_dict(self):
        return {f.name: getattr(self, f.name) for f in fields(self)}


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    g = torch.Generator()
    g.manual_seed(seed)
    return g


def warmup_cosine(opt, warmup_steps, total_steps):
    base = opt.param_groups[0]["lr"]

    def get_lr(k):
        if k < warmup_steps:
            return base * (k + 1) / warmup_steps
        if k >= total_steps:
            return 0.0
        return base * 0.5 * (1 + math.cos(math.pi * (k - warmup_steps) / (total_steps - warmup_steps)))

    return torch.optim.lr_scheduler.LambdaLR(opt, get_lr)


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None):
    opt.zero_grad()
    with torch.autocast(xb.device.type, dtype=dtype):
        out = model(xb)
    loss = loss_fn(out, yb)
    if scaler is None:
        loss.backward()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        return loss.item()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    if max_norm is not None:
        clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(opt)
    scaler.update()
    return loss.item()


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None):
    scaler = scaler or torch.amp.GradScaler(enabled=False)
    opt.zero_grad()
    for xb, yb in micro_batches:
        with torch.autocast(xb.device.type, dtype=dtype):
            loss = loss_fn(model(xb), yb)
        scaler.scale(loss / len(micro_batches)).backward()
    scaler.unscale_(opt)
    if max_norm is not None:
        clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(opt)
    scaler.update()
    return loss.item()


class BestCheckpoint:
    def __init__(self, path):
        self.path = Path(path)
        self.best = -math.inf

    def update(self, score, *, model, opt, scheduler, step, config):
        better = score > self.best
        state = {
            "model": model.state_dict(),
            "optimizer": opt.state_dict(),
            "scheduler": scheduler.state_dict(),
            "step": step,
            "score": float(score),
            "config": config if isinstance(config, dict) else asdict(config),
        }
        tmp = self.path.with_name("tmp_" + self.path.name)
        torch.save(state, tmp)
        os.replace(tmp, self.path)
        if better:
            self.best = float(score)
        return better


def resume(path, *, model, opt, scheduler):
    state = torch.load(path, map_location="cpu")
    scheduler.load_state_dict(state["scheduler"])
    opt.load_state_dict(state["optimizer"])
    model.load_state_dict(state["model"])
    return state["step"]


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path):
    seed_everything(cfg.seed)
    torch.manual_seed(cfg.seed)  # 이거 없으면 dropout이 매번 달라지던데 왜지
    model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=1.0, weight_decay=cfg.weight_decay)
    for g in opt.param_groups:
        g["lr"] = cfg.lr
    rates = [cfg.lr * r for r in schedule(cfg)]
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda k: rates[min(k, len(rates) - 1)] / cfg.lr)
    ckpt = BestCheckpoint(checkpoint_path)
    amp = {None: None, "bfloat16": torch.bfloat16, "float16": torch.float16}[cfg.amp_dtype]
    best, step = 0.0, 0
    for epoch in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            opt.zero_grad()
            with torch.autocast(torch.device(device).type, dtype=amp, enabled=amp is not None):
                loss = F.cross_entropy(model(xb.to(device)), yb.to(device))
            loss.backward()
            clip_grad_norm_(model.parameters(), cfg.max_norm)
            opt.step()
            sched.step()
            step += 1
        model.eval()
        hits = []
        with torch.no_grad():
            for xb, yb in val_loader:
                hits += (model(xb.to(device)).argmax(1) == yb.to(device)).tolist()
        model.train()
        acc = sum(hits) / len(hits)
        best = max(best, acc)
        ckpt.update(acc, model=model, opt=opt, scheduler=sched, step=step, config=cfg)
    return best


def schedule(cfg):
    w, t = cfg.warmup_steps, cfg.total_steps
    up = [(k + 1) / w for k in range(w)]
    down = [0.5 * (1 + math.cos(math.pi * k / (t - w))) for k in range(t - w)]
    return up + down + [0.0]


parser = argparse.ArgumentParser()
parser.add_argument("--config", required=True)
if __name__ == "__main__":
    print(TrainConfig.from_toml(parser.parse_args().config))
