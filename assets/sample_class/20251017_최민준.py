# -*- coding: utf-8 -*-
"""
1주차 과제 - 한 train step
학번: 20251017  이름: 최민준
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Callable, Optional

import torch
from torch import Tensor, nn

Batch = tuple[Tensor, Tensor]
LossFn = Callable[[Tensor, Tensor], Tensor]


@dataclass
class Meter:
    """샘플 수로 가중 평균을 내는 계량기."""

    total: float = 0.0
    count: int = 0
    history: list[float] = field(default_factory=list)

    def add(self, value: float, n: int) -> None:
        self.total += value * n
        self.count += n

    @property
    def mean(self) -> float:
        return self.total / self.count


def _clip(model: nn.Module, max_norm: Optional[float]) -> None:
    if max_norm is not None:
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)


def train_step(model: nn.Module, opt: torch.optim.Optimizer, loss_fn: LossFn, xb: Tensor, yb: Tensor) -> float:
    return train_step_extras(model, opt, loss_fn, xb, yb)


def train_step_extras(
    model: nn.Module,
    opt: torch.optim.Optimizer,
    loss_fn: LossFn,
    xb: Tensor,
    yb: Tensor,
    *,
    max_norm: Optional[float] = None,
    scheduler: Optional[torch.optim.lr_scheduler.LRScheduler] = None,
) -> float:
    model.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    _clip(model, max_norm)
    opt.step()
    if scheduler is not None:
        scheduler.step()
    return loss.item()


def accumulate(
    model: nn.Module,
    opt: torch.optim.Optimizer,
    loss_fn: LossFn,
    micro_batches: Iterable[Batch],
    accum_steps: int,
    *,
    max_norm: Optional[float] = None,
) -> int:
    if accum_steps < 1:
        raise ValueError(f"accum_steps must be >= 1, got {accum_steps}")

    def update(n: int) -> None:
        # 합으로 쌓아 두었으니 여기서 실제 개수로 나눈다
        for p in model.parameters():
            if p.grad is not None:
                p.grad.div_(n)
        _clip(model, max_norm)
        opt.step()
        opt.zero_grad()

    steps = 0
    pending = 0
    opt.zero_grad()
    for xb, yb in micro_batches:
        loss_fn(model(xb), yb).backward()
        pending += 1
        if pending == accum_steps:
            update(pending)
            steps, pending = steps + 1, 0
    if pending:
        update(pending)
        steps += 1
    return steps


def fit(
    model: nn.Module,
    opt: torch.optim.Optimizer,
    loss_fn: LossFn,
    loader: Iterable[Batch],
    epochs: int,
    *,
    zero_grad: bool = True,
) -> list[float]:
    means: list[float] = []
    for _epoch in range(epochs):
        model.train()
        meter = Meter()
        for xb, yb in loader:
            if zero_grad:
                for p in model.parameters():
                    p.grad = None
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            meter.add(loss.item(), xb.shape[0])
        means.append(meter.mean)
    return means


def evaluate(model: nn.Module, loss_fn: LossFn, loader: Iterable[Batch]) -> tuple[float, float]:
    before = {name: module.training for name, module in model.named_modules()}
    model.eval()
    loss_meter, acc_meter = Meter(), Meter()
    try:
        with torch.no_grad():
            for xb, yb in loader:
                logits = model(xb)
                loss_meter.add(loss_fn(logits, yb).item(), len(xb))
                acc_meter.add((logits.argmax(1) == yb).double().mean().item(), len(xb))
    finally:
        for name, module in model.named_modules():
            module.training = before[name]
    return loss_meter.mean, acc_meter.mean


def zero_gradients(params: Iterable[nn.Parameter]) -> None:
    for p in params:
        p.grad = None


def sgd_update(params: Iterable[nn.Parameter], lr: float) -> None:
    with torch.no_grad():
        for p in params:
            if p.grad is None:
                continue
            p.copy_(p - lr * p.grad)


def autograd_nodes(loss: Tensor) -> list[str]:
    def visit(node) -> None:
        if node in seen:
            return
        seen.add(node)
        for child, _ in node.next_functions:
            if child is not None:
                visit(child)

    seen: set = set()
    if loss.grad_fn is not None:
        visit(loss.grad_fn)
    return sorted({type(node).__name__ for node in seen})


def main() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 4))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    xs, ys = torch.randn(4096, 20), torch.randint(0, 4, (4096,))
    data = list(zip(xs.split(32), ys.split(32)))
    for epoch, mean in enumerate(fit(model, opt, nn.CrossEntropyLoss(), data, 500), start=1):
        print(f"에폭 {epoch}: {mean:.4f}")


if __name__ == "__main__":
    main()
