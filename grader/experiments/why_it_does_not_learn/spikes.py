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
from grader.experiments.vectors import flat

SEEDS = range(6)
STEPS, ROGUE = 160, 80
"""Updates in a run, and the one, counted from 0, at which the batch comes."""
FACTOR = 512.0
RATE = 0.01
_WINDOW = 20
"""How many earlier norms or losses tell what is usual."""
_KEEP_EVERY = 10

_RESTORED = {
    "roll back": ("exp_avg", "exp_avg_sq", "step"),
    "roll back weights": (),
    "roll back weights and m": ("exp_avg",),
    "roll back weights and v": ("exp_avg_sq",),
}
"""Remedy -> what of AdamW's state goes back together with the weights."""


@dataclass(frozen=True)
class Reading:
    """What the validation images and the weights say after one step."""

    loss: float
    output_std: float
    """Standard deviation of all values of the hidden layer."""
    saturated: float
    """Share of these values beyond ±0.99, where tanh is flat."""
    logit_std: float
    """Standard deviation of a logit over the images; the mean of the ten logits."""
    stride: float
    """Root mean square of the weights' step, in learning rates."""


@dataclass
class Run:
    """What happened to one training."""

    readings: dict[int, Reading]
    """Steps since the batch -> what was read; at -1 there is the step before."""
    skipped: int = 0
    rolled_back: int = 0

    @property
    def val_losses(self) -> dict[int, float]:
        """Steps since the batch, from 0 -> validation loss."""
        return {step: one.loss for step, one in self.readings.items() if step >= 0}

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
        return self.readings[STEPS - 1 - ROGUE].loss

    @property
    def late_stride(self) -> float:
        """The median step of the last 40, in learning rates."""
        return median(one.stride for step, one in self.readings.items() if step >= STEPS - 40 - ROGUE)


class _Rollback:
    """Two copies of a training's state, ten steps apart; the older one is certain to be from before the trouble."""

    def __init__(self, model: nn.Module, opt: torch.optim.Optimizer) -> None:
        self.model, self.opt = model, opt
        self.kept: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def keep(self) -> None:
        """Keep a copy of the state, and forget all but two."""
        state = (self.model.state_dict(), self.opt.state_dict())
        self.kept = [*self.kept[-1:], copy.deepcopy(state)]

    def restore(self, moments: Sequence[str]) -> None:
        """Go back to the older copy: the weights, and what is named of each one's state in the optimizer."""
        self.kept = self.kept[:1]
        weights, optimizer = self.kept[0]
        self.model.load_state_dict(weights)
        for number, parameter in enumerate(self.model.parameters()):
            for name in moments:
                self.opt.state[parameter][name].copy_(optimizer["state"][number][name])


def _is_unusual(value: float, earlier: Sequence[float], factor: float) -> bool:
    return len(earlier) >= _WINDOW and value > factor * median(earlier[-_WINDOW:])


def _norm(parameters: Iterable[Tensor]) -> float:
    return math.sqrt(sum(p.grad.square().sum().item() for p in parameters if p.grad is not None))


def _read(model: nn.Sequential, before: Tensor, rate: float, inverted: bool) -> Reading:
    with torch.no_grad():
        hidden = model[:-1](1 - x_val if inverted else x_val)
        logits = model[-1](hidden)
    return Reading(
        loss_fn(logits, y_val).item(),
        hidden.std(correction=0).item(),
        (hidden.abs() > 0.99).double().mean().item(),
        logits.std(dim=0).mean().item(),
        (flat(model.parameters()) - before).square().mean().sqrt().item() / rate,
    )


@cache  # the notebook compares some runs more than once
def spike_run(
    seed: int,
    remedy: str = "",
    *,
    beta2: float = 0.999,
    rate: float = RATE,
    factor: float = FACTOR,
    inverted: bool = False,
    start: int = 0,
) -> Run:
    """Train with AdamW; one batch has a gradient that is `factor` times too large.

    Args:
        seed: of weights and batches.
        remedy: "clip" to a norm of 1; "skip" a norm above 4 medians; "roll back" (see `_RESTORED`) when the loss of a
            batch is above 4 medians; empty: none.
        beta2: how long AdamW remembers squares.
        rate: the learning rate.
        factor: of the gradient of batch `ROGUE`.
        inverted: images are inverted from batch `ROGUE` on.
        start: the batch that the untrained model begins with.
    """
    model = make_model(seed)
    opt = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, beta2), fused=True)
    rollback, run = _Rollback(model, opt), Run({})
    norms: list[float] = []
    losses: list[float] = []
    for step, (xb, yb) in list(enumerate(draw_batches(seed, STEPS)))[start:]:
        if step % _KEEP_EVERY == 0 and remedy in _RESTORED:
            rollback.keep()
        before = flat(model.parameters())
        opt.zero_grad()
        loss = loss_fn(model(1 - xb if inverted and step >= ROGUE else xb), yb)
        if remedy in _RESTORED and _is_unusual(loss.item(), losses, 4.0):
            rollback.restore(_RESTORED[remedy])
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
        if step >= ROGUE - 1:
            run.readings[step - ROGUE] = _read(model, before, rate, inverted)
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
