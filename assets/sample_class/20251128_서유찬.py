"""학습 루프 해부 과제 (서유찬, 20251128)"""
from __future__ import annotations

import contextlib
import math
import random
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, LinearLR, LambdaLR


@dataclass(frozen=True, kw_only=True)
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

    def __post_init__(self) -> None:
        _require(self.lr > 0, f"lr={self.lr}")
        _require(self.epochs >= 1, f"epochs={self.epochs}")
        _require(self.batch_size >= 1, f"batch_size={self.batch_size}")
        _require(self.warmup_steps <= self.total_steps, f"{self.warmup_steps=} > {self.total_steps=}")

    @classmethod
    def from_toml(cls, path: str | Path) -> Self:
        values: dict[str, Any] = tomllib.loads(Path(path).read_text("utf-8"))
        unknown = values.keys() - {f.name for f in fields(cls)}
        _require(not unknown, f"unknown keys: {sorted(unknown)}")
        return cls(**values)

    def to_dict(self) -> dict[str, float | int | str | None]:
        return asdict(self)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def seed_everything(seed: int) -> torch.Generator:
    random.seed(seed)
    np.random.seed(seed % 2**32)
    generator = torch.Generator()
    generator.manual_seed(torch.manual_seed(seed).initial_seed())
    return generator


class WarmupCosine(LRScheduler):
    """LambdaLR 없이 직접."""

    def __init__(self, optimizer: Optimizer, warmup: int, total: int) -> None:
        self.warmup = warmup
        self.total = total
        super().__init__(optimizer)

    def get_lr(self) -> list[float]:
        k = self.last_epoch
        if k < self.warmup:
            factor = (k + 1) / self.warmup
        elif k < self.total:
            factor = math.cos(0.5 * math.pi * (k - self.warmup) / (self.total - self.warmup)) ** 2
        else:
            factor = 0.0
        return [base * factor for base in self.base_lrs]


def warmup_cosine(opt: Optimizer, warmup_steps: int, total_steps: int) -> LRScheduler:
    return WarmupCosine(opt, warmup_steps, total_steps)


def _clip(params: Iterable[Tensor], max_norm: float) -> None:
    grads = [p.grad for p in params if p.grad is not None]
    norm = torch.stack([g.norm() for g in grads]).norm()
    scale = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for g in grads:
        g.mul_(scale)


def _finish(model: nn.Module, opt: Optimizer, scaler: torch.amp.GradScaler, max_norm: float | None) -> None:
    scaler.unscale_(opt)
    if max_norm is not None:
        _clip(model.parameters(), max_norm)
    scaler.step(opt)
    scaler.update()
    opt.zero_grad()


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    return amp_accumulate(model, opt, loss_fn, [(xb, yb)], dtype=dtype, scaler=scaler, max_norm=max_norm)


def amp_accumulate(
    model: nn.Module,
    opt: Optimizer,
    loss_fn: nn.Module,
    micro_batches: Sequence[tuple[Tensor, Tensor]],
    *,
    dtype: torch.dtype,
    scaler: torch.amp.GradScaler | None = None,
    max_norm: float | None = None,
) -> float:
    if scaler is None:
        scaler = torch.amp.GradScaler("cpu", enabled=False)
    losses: list[float] = []
    for xb, yb in micro_batches:
        with torch.autocast(xb.device.type, dtype=dtype):
            loss = loss_fn(model(xb), yb)
        (scaler.scale(loss) / len(micro_batches)).backward()
        losses.append(loss.item())
    _finish(model, opt, scaler, max_norm)
    return math.fsum(losses) / len(losses)


class BestCheckpoint:
    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.best = float("-inf")

    def update(self, score: float, *, model, opt, scheduler, step: int, config) -> bool:
        if not score > self.best:
            return False
        self.best = float(score)
        state = {"model": model, "optimizer": opt, "scheduler": scheduler}
        content: dict[str, Any] = {name: part.state_dict() for name, part in state.items()}
        content |= {"step": step, "score": self.best}
        content["config"] = config if isinstance(config, dict) else {f.name: getattr(config, f.name) for f in fields(config)}
        with tempfile.NamedTemporaryFile(dir=self.path.parent, delete=False) as file:
            torch.save(content, file)
        Path(file.name).replace(self.path)
        return True


def resume(path: str | Path, *, model: nn.Module, opt: Optimizer, scheduler: LRScheduler) -> int:
    match torch.load(path, weights_only=True):
        case {"model": weights, "optimizer": optimizer, "scheduler": schedule, "step": int(step)}:
            model.load_state_dict(weights)
            opt.load_state_dict(optimizer)
            scheduler.load_state_dict(schedule)
            return step
        case other:
            raise ValueError(f"체크포인트가 아님: {type(other)}")


@contextlib.contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train()


def train(model, train_loader, val_loader, cfg, *, device: str = "cpu", checkpoint_path) -> float:
    seed_everything(cfg.seed)
    model.to(device)
    model.train()
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    checkpoint = BestCheckpoint(checkpoint_path)
    dtype = getattr(torch, cfg.amp_dtype or "float32")
    kind = torch.device(device).type
    scaler = torch.amp.GradScaler(kind, enabled=dtype == torch.float16)
    step = 0
    for _ in range(cfg.epochs):
        for step, (xb, yb) in enumerate(train_loader, start=step + 1):
            with torch.autocast(kind, dtype=dtype, enabled=cfg.amp_dtype is not None):
                loss = nn.functional.cross_entropy(model(xb.to(device)), yb.to(device))
            scaler.scale(loss).backward()
            _finish(model, opt, scaler, cfg.max_norm)
            scheduler.step()
        with evaluating(model):
            right = [(model(xb.to(device)).argmax(dim=1).cpu() == yb.cpu()) for xb, yb in val_loader]
        accuracy = torch.cat(right).double().mean().item()
        checkpoint.update(accuracy, model=model, opt=opt, scheduler=scheduler, step=step, config=cfg)
    return checkpoint.best


if __name__ == "__main__":
    print(TrainConfig.from_toml("config.toml"))
