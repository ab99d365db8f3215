"""Digits, one batch whose gradient is 512 times too large, and what is done about it; images that change for good."""

import copy
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from grader.experiments.several_processes.classifier import draw_batches
from grader.experiments.several_processes.digits import loss_fn, make_model, x_val, y_val

SEEDS = range(6)
STEPS, ROGUE = 160, 80
"""Updates in a run, and the one, counted from 0, at which the batch comes."""
FACTOR = 512.0
RATE = 0.01
_WINDOW = 20
"""How many earlier norms or losses tell what is usual."""
_KEEP_EVERY = 10
_EVALUATE_EVERY = 4


@dataclass
class Run:
    """What happened to one training."""

    val_losses: dict[int, float]
    """Steps since the batch -> validation loss."""
    skipped: int = 0
    rolled_back: int = 0

    @property
    def worst(self) -> float:
        """The largest validation loss after the batch."""
        return max(self.val_losses.values())

    @property
    def worst_at(self) -> int:
        """Steps from the batch to the largest validation loss."""
        return max(self.val_losses, key=lambda step: self.val_losses[step])

    @property
    def end(self) -> float:
        """The last validation loss."""
        return self.val_losses[STEPS - 1 - ROGUE]


class _Rollback:
    """Two copies of a training's state, ten steps apart; the older one is certain to be from before the trouble."""

    def __init__(self, model: nn.Module, opt: torch.optim.Optimizer) -> None:
        self.parts: Sequence[Any] = (model, opt)
        self.kept: list[list[dict[str, Any]]] = []

    def keep(self) -> None:
        """Keep a copy of the state, and forget all but two."""
        self.kept = [*self.kept[-1:], [copy.deepcopy(part.state_dict()) for part in self.parts]]

    def restore(self, with_optimizer: bool) -> None:
        """Go back to the older copy."""
        self.kept = self.kept[:1]
        for part, state in list(zip(self.parts, self.kept[0], strict=True))[: 1 + with_optimizer]:
            part.load_state_dict(state)


def _is_unusual(value: float, earlier: Sequence[float], factor: float) -> bool:
    return len(earlier) >= _WINDOW and value > factor * median(earlier[-_WINDOW:])


def _norm(parameters: Iterable[Tensor]) -> float:
    return math.sqrt(sum(p.grad.square().sum().item() for p in parameters if p.grad is not None))


def _validation_loss(model: nn.Module, inverted: bool) -> float:
    with torch.no_grad():
        loss: Tensor = loss_fn(model(1 - x_val if inverted else x_val), y_val)
    return loss.item()


@cache  # the notebook compares some runs more than once
def spike_run(
    seed: int,
    remedy: str = "",
    *,
    beta2: float = 0.999,
    rate: float = RATE,
    factor: float = FACTOR,
    inverted: bool = False,
) -> Run:
    """Train with AdamW; one batch has a gradient that is `factor` times too large.

    Args:
        seed: of weights and batches.
        remedy: "clip" to a norm of 1; "skip" a norm above 4 medians; "roll back" model and optimizer, or "roll back
            weights", when the loss of a batch is above 4 medians; empty: none.
        beta2: how long AdamW remembers squares.
        rate: the learning rate.
        factor: of the gradient of batch `ROGUE`.
        inverted: images are inverted from batch `ROGUE` on.
    """
    model = make_model(seed)
    opt = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, beta2))
    rollback, run = _Rollback(model, opt), Run({})
    norms: list[float] = []
    losses: list[float] = []
    for step, (xb, yb) in enumerate(draw_batches(seed, STEPS)):
        if step % _KEEP_EVERY == 0 and remedy.startswith("roll back"):
            rollback.keep()
        opt.zero_grad()
        loss = loss_fn(model(1 - xb if inverted and step >= ROGUE else xb), yb)
        if remedy.startswith("roll back") and _is_unusual(loss.item(), losses, 4.0):
            rollback.restore(with_optimizer=remedy == "roll back")
            run.rolled_back += 1
        else:
            losses.append(loss.item())
            (loss * factor if step == ROGUE else loss).backward()
            norm = _norm(model.parameters())
            if remedy == "skip" and _is_unusual(norm, norms, 4.0):
                run.skipped += 1
            else:
                norms.append(norm)
                if remedy == "clip":
                    clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
        if step == STEPS - 1 or (step >= ROGUE and (step - ROGUE) % _EVALUATE_EVERY == 0):
            run.val_losses[step - ROGUE] = _validation_loss(model, inverted)
    return run


def spike_runs(remedy: str = "", **options: Any) -> list[Run]:
    """Return a run for each of `SEEDS`."""
    return [spike_run(seed, remedy, **options) for seed in SEEDS]


def distance_of_one_gradient(update: int, beta2: float, beta1: float = 0.9, steps: int = 2000) -> float:
    """Return how far AdamW moves by one gradient that is huge, in learning rates, over all steps that follow.

    Before and after it, gradients are so small that only it counts. After k steps, its share in the first moment is
    (1 - β1) β1^k, and its square's share in the second moment is (1 - β2) β2^k; each is divided by its bias correction.

    Args:
        update: number of the update that it comes with, from 1.
        beta2: decay of the second moment.
        beta1: decay of the first moment.
        steps: number of steps that are added up.
    """
    distance = 0.0
    for k in range(steps):
        first = (1 - beta1) * beta1**k / (1 - beta1 ** (update + k))
        second = (1 - beta2) * beta2**k / (1 - beta2 ** (update + k))
        distance += first / math.sqrt(second)
    return distance
