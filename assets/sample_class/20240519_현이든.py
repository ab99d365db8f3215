"""과제 3 — 학습을 안정시키는 장치. 20240519 현이든"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import Optimizer

Batch = tuple[Tensor, Tensor]


def plan_steps(n_batches: int, n_epochs: int, *, warmup_ratio: float, accum_steps: int = 1) -> tuple[int, int]:
    if not 0.001 <= warmup_ratio <= 0.2:
        raise ValueError(f"{warmup_ratio=}")
    windows = sum(1 for _ in range(0, n_batches, accum_steps))
    total = windows * n_epochs
    warmup = math.floor(total * warmup_ratio + 0.5)
    return total, max(warmup, 1)


@dataclass(frozen=True)
class Schedule:
    warmup_steps: int
    total_steps: int
    initial_lr: float
    peak_lr: float
    min_lr: float
    decay: Literal["cosine", "linear"] = "cosine"

    def __post_init__(self) -> None:
        if self.decay not in ("cosine", "linear"):
            raise ValueError(self.decay)

    def __call__(self, step: int) -> float:
        last = self.total_steps - 1
        match step:
            case s if s < self.warmup_steps:
                return self.initial_lr + s * (self.peak_lr - self.initial_lr) / self.warmup_steps
            case s if s >= last:
                return self.min_lr
            case s:
                done = (s - self.warmup_steps) / (last - self.warmup_steps)
        left = 1 - done if self.decay == "linear" else (1 + math.cos(math.pi * done)) / 2
        return self.min_lr + left * (self.peak_lr - self.min_lr)


def lr_at(step: int, *, warmup_steps: int, total_steps: int, initial_lr: float, peak_lr: float, min_lr: float,
          decay: str = "cosine") -> float:
    return Schedule(warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay)(step)


def clip_global_norm(params: Iterable[nn.Parameter], max_norm: float) -> float:
    grads = [p.grad for p in params if p.grad is not None]
    norm = math.hypot(*(n.item() for n in torch._foreach_norm(grads)))
    if math.isnan(norm) or math.isinf(norm):
        raise RuntimeError(f"{norm=}")
    if norm > max_norm:
        torch._foreach_mul_(grads, max_norm / norm)
    return norm


@dataclass
class Run:
    """학습 한 번에 필요한 것을 다 들고 있는다."""

    model: nn.Module
    optimizer: Optimizer
    device: str
    schedules: list[Schedule]
    lrs: list[float] = field(default_factory=list)
    train_losses: list[float] = field(default_factory=list)
    val_losses: list[float] = field(default_factory=list)
    tokens_seen: list[int] = field(default_factory=list)
    tokens: int = 0

    def loss(self, batch: Batch) -> Tensor:
        inputs, targets = (t.to(self.device) for t in batch)
        logits = self.model(inputs)
        return F.cross_entropy(logits.reshape(-1, logits.size(-1)), targets.reshape(-1))

    def set_rates(self, step: int) -> None:
        for group, schedule in zip(self.optimizer.param_groups, self.schedules, strict=True):
            group["lr"] = schedule(step)
        self.lrs.append(self.schedules[0](step))

    def update(self, batch: Batch, max_norm: float | None) -> None:
        self.loss(batch).backward()
        if max_norm is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), max_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.tokens += batch[0].numel()

    @torch.inference_mode()
    def mean_loss(self, loader: Iterable[Batch], n: int) -> float:
        self.model.eval()
        try:
            losses = [self.loss(batch).item() for batch, _ in zip(loader, range(n))]
        finally:
            self.model.train()
        return math.fsum(losses) / len(losses)

    def history(self) -> dict[str, list]:
        names = ("train_losses", "val_losses", "tokens_seen", "lrs")
        return {name: getattr(self, name) for name in names}


def epochs_of(loader: Iterable[Batch], n_epochs: int, done: Callable[[], None]) -> Iterator[Batch]:
    for _ in range(n_epochs):
        yield from loader
        done()


def train_gpt(model: nn.Module, train_loader, val_loader, optimizer: Optimizer, *, device: str = "cpu", n_epochs: int,
              eval_freq: int, eval_iter: int, warmup_steps: int, initial_lr: float = 3e-5, min_lr: float = 1e-6,
              max_norm: float = 1.0, clip_after_warmup: bool = False, on_epoch_end=None) -> dict[str, list]:
    total = len(train_loader) * n_epochs
    schedules = [Schedule(warmup_steps, total, initial_lr, g["lr"], min_lr) for g in optimizer.param_groups]
    run = Run(model, optimizer, device, schedules)

    def epoch_done() -> None:
        if on_epoch_end is not None:
            on_epoch_end(model)
        model.train()

    model.train()
    for step, batch in enumerate(epochs_of(train_loader, n_epochs, epoch_done)):
        run.set_rates(step)
        clips = step >= warmup_steps if clip_after_warmup else True
        run.update(batch, max_norm if clips else None)
        if step % eval_freq == 0:
            run.train_losses.append(run.mean_loss(train_loader, eval_iter))
            run.val_losses.append(run.mean_loss(val_loader, eval_iter))
            run.tokens_seen.append(run.tokens)
    return run.history()


def token_mean_accumulate(model: nn.Module, opt: Optimizer, micro_batches: Iterable[Batch], *, ignore_index: int = -100) -> float:
    window = tuple(micro_batches)
    counts = [int(y.ne(ignore_index).sum()) for _, y in window]
    if not any(counts):
        raise ValueError("유효한 토큰이 없음")
    value = 0.0
    for (x, y), count in zip(window, counts, strict=True):
        if count == 0:
            continue
        mean = F.cross_entropy(model(x).transpose(1, 2), y, ignore_index=ignore_index)
        share = mean * (count / sum(counts))
        share.backward()
        value += share.item()
    opt.step()
    opt.zero_grad()
    return value


if __name__ == "__main__":
    print(plan_steps(100, 15, warmup_ratio=0.1, accum_steps=4))
