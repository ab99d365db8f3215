# 오시우 과제2
import math, os, random, tomllib
from dataclasses import dataclass, asdict
import numpy as np
import torch
import torch.nn as nn
from accelerate import Accelerator


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
            raise ValueError("lr")
        if self.epochs < 1:
            raise ValueError("epochs")
        if self.batch_size < 1:
            raise ValueError("batch_size")
        if self.warmup_steps > self.total_steps:
            raise ValueError("warmup_steps")

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as fp:
            return cls(**tomllib.load(fp))

    def to_dict(self):
        return self.__dict__.copy()


def seed_everything(seed):
    np.random.seed(seed)
    random.seed(seed)
    torch.manual_seed(seed)
    return torch.Generator()


def warmup_cosine(opt, warmup_steps, total_steps):
    def f(k):
        if k < warmup_steps:
            return (k + 1) / warmup_steps
        p = (k - warmup_steps) / max(1, total_steps - warmup_steps)
        return 0.5 * (1 + math.cos(math.pi * p))
    return torch.optim.lr_scheduler.LambdaLR(opt, f)


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None):
    if scaler is None:
        scaler = torch.amp.GradScaler(enabled=False)
    opt.zero_grad()
    with torch.autocast(xb.device.type, dtype=dtype):
        loss = loss_fn(model(xb), yb)
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    if max_norm is not None:
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(opt)
    return loss.item()


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None):
    if scaler is None:
        scaler = torch.amp.GradScaler(enabled=False)
    opt.zero_grad()
    s = 0.0
    for xb, yb in micro_batches:
        with torch.autocast(xb.device.type, dtype=dtype):
            loss = loss_fn(model(xb), yb) / len(micro_batches)
        scaler.scale(loss).backward()
        scaler.unscale_(opt)        # 배율 되돌리기
        s += loss.item()
    if max_norm is not None:
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(opt)
    scaler.update()
    return s


class BestCheckpoint:
    def __init__(self, path):
        self.path = str(path)
        self.best = -1e9

    def update(self, score, *, model, opt, scheduler, step, config):
        if not score >= self.best:
            return False
        self.best = float(score)
        if not isinstance(config, dict):
            config = asdict(config)
        torch.save(dict(model=model.state_dict(), optimizer=opt.state_dict(), scheduler=scheduler.state_dict(),
                        step=step, score=self.best, config=config), self.path + ".new")
        os.replace(self.path + ".new", self.path)
        return True


def resume(path, *, model, opt, scheduler):
    ck = torch.load(path)
    model.load_state_dict(ck["model"])
    opt.load_state_dict(ck["optimizer"])
    scheduler.load_state_dict(ck["scheduler"])
    return ck["step"] + 1     # 다음 스텝부터


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path):
    seed_everything(cfg.seed)
    model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    # warmup_cosine 대신 표준 스케줄러로 (끝나면 0)
    def f(k):
        if k < cfg.warmup_steps: return (k + 1) / cfg.warmup_steps
        if k >= cfg.total_steps: return 0.0
        return 0.5 * (1 + math.cos(math.pi * (k - cfg.warmup_steps) / (cfg.total_steps - cfg.warmup_steps)))
    sched = torch.optim.lr_scheduler.LambdaLR(opt, f)
    best = BestCheckpoint(checkpoint_path)
    dt = {"bfloat16": torch.bfloat16, "float16": torch.float16, None: None}[cfg.amp_dtype]
    step = 0
    accs = []
    model.train()
    for e in range(cfg.epochs):
        for xb, yb in train_loader:
            xb, yb = xb.to(device), yb.to(device)
            with torch.autocast(torch.device(device).type, dtype=dt, enabled=dt is not None):
                loss = nn.functional.cross_entropy(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            opt.step()
            sched.step()
            step += 1
        ok = n = 0
        with torch.no_grad():           # no_grad면 평가 모드지
            for xb, yb in val_loader:
                ok += (model(xb.to(device)).argmax(1) == yb.to(device)).sum().item()
                n += len(yb)
        accs.append(ok / n)
        best.update(ok / n, model=model, opt=opt, scheduler=sched, step=step, config=cfg)
    return max(accs)


def train_accelerate(model, train_loader, val_loader, cfg, *, checkpoint_path):
    seed_everything(cfg.seed)
    acc = Accelerator()
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    f = lambda k: (k + 1) / cfg.warmup_steps if k < cfg.warmup_steps else 0.0 if k >= cfg.total_steps else 0.5 * (1 + math.cos(math.pi * (k - cfg.warmup_steps) / (cfg.total_steps - cfg.warmup_steps)))
    sched = torch.optim.lr_scheduler.LambdaLR(opt, f)
    model, opt, train_loader, val_loader, sched = acc.prepare(model, opt, train_loader, val_loader, sched)
    best = BestCheckpoint(checkpoint_path)
    step = 0
    accs = []
    for e in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(xb), yb)
            acc.backward(loss)
            acc.clip_grad_norm_(model.parameters(), cfg.max_norm)
            opt.step()
            sched.step()
            step += 1
        model.eval()
        ok = n = 0
        with torch.no_grad():
            for xb, yb in val_loader:
                ok += (model(xb).argmax(1) == yb).sum().item()
                n += len(yb)
        model.train()
        accs.append(ok / n)
        best.update(ok / n, model=model, opt=opt, scheduler=sched, step=step, config=cfg)
    return max(accs)
