"""과제 4: SAM과 누적 (20220415 온유진)"""
from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

T = TypeVar("T")
LossFn = Callable[[Tensor, Tensor], Tensor]


def chunked(items: Iterable[T], size: int) -> Iterator[list[T]]:
    chunk: list[T] = []
    for item in items:
        chunk.append(item)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


class SAM(Optimizer):
    """base_optimizer를 먼저 만들고 그 그룹을 빌려 쓴다."""

    def __init__(self, params, base_optimizer: type[Optimizer], rho: float = 0.05, adaptive: bool = False, **kwargs: Any):
        if rho < 0:
            raise ValueError(f"{rho=}")
        self.base = base_optimizer(params, **kwargs)
        super().__init__(self.base.param_groups, dict(self.base.defaults))
        self.rho, self.adaptive = rho, adaptive
        self._share()
        self._origin: list[tuple[Tensor, Tensor]] = []

    def _share(self) -> None:
        self.param_groups, self.state = self.base.param_groups, self.base.state

    @torch.no_grad()
    def first_step(self, zero_grad: bool = False) -> None:
        moving = [p for g in self.param_groups for p in g["params"] if p.grad is not None]
        self._origin = [(p, p.clone()) for p in moving]
        weights = [p.abs() if self.adaptive else torch.ones_like(p) for p in moving]
        length = math.sqrt(sum(float((w * p.grad).square().sum()) for w, p in zip(weights, moving, strict=True)))
        if length > 0:
            for w, p in zip(weights, moving, strict=True):
                p.addcmul_(w.square(), p.grad, value=self.rho / length)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad: bool = False) -> None:
        while self._origin:
            p, before = self._origin.pop()
            p.copy_(before)
        self.base.step()
        if zero_grad:
            self.zero_grad()

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.base.zero_grad(set_to_none=set_to_none)

    def state_dict(self) -> dict[str, Any]:
        return self.base.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.base.load_state_dict(state_dict)
        self._share()


def mean_gradient(model: nn.Module, loss_of: Callable[[Any], Tensor], window: list[Any], params: list[nn.Parameter]) -> list[float]:
    """구간의 평균 그레이디언트를 .grad에 넣고 손실들을 돌려준다."""
    sums = [torch.zeros_like(p) for p in params]
    losses = []
    for item in window:
        loss = loss_of(item)
        losses.append(loss.item())
        for s, g in zip(sums, torch.autograd.grad(loss, params), strict=True):
            s += g
    for p, s in zip(params, sums, strict=True):
        p.grad = s / len(window)
    return losses


def sam_update(model: nn.Module, sam: Any, loss_of, window: list[Any], max_norm: float | None) -> list[float]:
    params = [p for p in model.parameters() if p.requires_grad]
    losses = mean_gradient(model, loss_of, window, params)
    sam.first_step()
    mean_gradient(model, loss_of, window, params)
    if max_norm is not None:
        nn.utils.clip_grad_norm_(params, max_norm)
    sam.second_step(zero_grad=True)
    return losses


def sam_step(model: nn.Module, sam: Any, loss_fn: LossFn, xb: Tensor, yb: Tensor) -> float:
    (loss,) = sam_update(model, sam, lambda batch: loss_fn(model(batch[0]), batch[1]), [(xb, yb)], None)
    return loss


def sam_accumulate(model: nn.Module, sam: Any, loss_fn: LossFn, micro_batches, accum_steps: int, *,
                   max_norm: float | None = None) -> list[float]:
    means = []
    for window in chunked(micro_batches, accum_steps):
        losses = sam_update(model, sam, lambda batch: loss_fn(model(batch[0]), batch[1]), window, max_norm)
        means.append(math.fsum(losses) / len(losses))
    return means


@contextlib.contextmanager
def untouched(model: nn.Module) -> Iterator[None]:
    tensors = [*model.parameters(), *model.buffers()]
    before = [t.detach().clone() for t in tensors]
    try:
        yield
    finally:
        with torch.no_grad():
            for t, b in zip(tensors, before, strict=True):
                t.copy_(b)


def sharpness(model: nn.Module, loss_fn: LossFn, xb: Tensor, yb: Tensor, *, rho: float) -> float:
    params = [p for p in model.parameters() if p.requires_grad]
    with untouched(model):
        with torch.random.fork_rng():
            low = loss_fn(model(xb), yb)
        grads = torch.autograd.grad(low, params)
        norm = math.sqrt(sum(float(g.square().sum()) for g in grads))
        with torch.no_grad(), torch.random.fork_rng():
            for p, g in zip(params, grads, strict=True):
                p.add_(g, alpha=rho / (norm or 1.0))
            high = loss_fn(model(xb), yb)
    return high.item() - low.item()


def train_qa(model: nn.Module, sam: Any, train_loader, dev_loader, *, epochs: int, accum_steps: int, scheduler=None,
             max_norm: float = 1.0, checkpoint_path: str | Path) -> dict[str, Any]:
    def loss_of(batch: dict[str, Tensor]) -> Tensor:
        return model(**batch).loss

    def weighted(losses: list[float], sizes: list[int]) -> float:
        return math.fsum(a * n for a, n in zip(losses, sizes, strict=True)) / sum(sizes)

    train_losses: list[float] = []
    dev_losses: list[float] = []
    for _ in range(epochs):
        model.train()
        losses, sizes = [], []
        for window in chunked(train_loader, accum_steps):
            losses += sam_update(model, sam, loss_of, window, max_norm)
            sizes += [len(batch["input_ids"]) for batch in window]
            if scheduler is not None:
                scheduler.step()
        train_losses.append(weighted(losses, sizes))
        model.eval()
        with torch.no_grad():
            rows = [(loss_of(batch).item(), len(batch["input_ids"])) for batch in dev_loader]
        now = weighted([r[0] for r in rows], [r[1] for r in rows])
        if not dev_losses or now < min(dev_losses):
            torch.save(model.state_dict(), checkpoint_path)
        dev_losses.append(now)
        model.train()
    best_epoch = min(range(epochs), key=dev_losses.__getitem__)
    return {"train_losses": train_losses, "dev_losses": dev_losses, "best_epoch": best_epoch}
