import dataclasses
import math
import os
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_


def accuracy(model, loader, device):
    was_training = model.training
    model.eval()
    right, n = 0, 0
    for x, y in loader:
        with torch.no_grad():
            logits = model(x.to(device)).float()
        right += int((logits.argmax(1).cpu() == y).sum())
        n += len(x)
    model.train(was_training)
    return right / n


def factor(k, warmup, total):
    if k < warmup:
        return (k + 1) / warmup
    return 0.0 if k >= total else math.cos(math.pi / 2 * (k - warmup) / (total - warmup)) ** 2


class BestCheckpoint:
    def __init__(self, path):
        self.path, self.best = Path(path), -1.0

    def update(self, score, **parts):
        if score > self.best:
            self.best = score
            config = parts.pop("config")
            state = {"score": float(score), "config": dataclasses.asdict(config), "step": parts.pop("step")}
            names = {"opt": "optimizer"}
            state.update({names.get(k, k): v.state_dict() for k, v in parts.items()})
            torch.save(state, self.path.with_suffix(".new"))
            os.replace(self.path.with_suffix(".new"), self.path)


def one_step(model, opt, xb, yb, cfg, scaler):
    dtype = {"bfloat16": torch.bfloat16, "float16": torch.float16}.get(cfg.amp_dtype)
    with torch.autocast(xb.device.type, dtype, enabled=bool(dtype)):
        loss = F.cross_entropy(model(xb), yb)
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    clip_grad_norm_(model.parameters(), cfg.max_norm)
    scaler.step(opt)
    scaler.update()
    opt.zero_grad()


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path):
    torch.manual_seed(cfg.seed)
    model.to(device).train()
    opt = torch.optim.AdamW(params=list(model.parameters()), lr=cfg.lr, weight_decay=cfg.weight_decay, foreach=True)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda k: factor(k, cfg.warmup_steps, cfg.total_steps))
    scaler = torch.amp.GradScaler(init_scale=1024.0, enabled=cfg.amp_dtype == "float16")
    keeper = BestCheckpoint(checkpoint_path)
    step, scores = 0, []
    for _ in range(cfg.epochs):
        for xb, yb in train_loader:
            one_step(model, opt, xb.to(device), yb.to(device), cfg, scaler)
            sched.step()
            step += 1
        scores.append(accuracy(model, val_loader, device))
        keeper.update(scores[-1], model=model, opt=opt, scheduler=sched, step=step, config=cfg)
    return max(scores)
