"""Windows of an update: the backwards that one step read, and the weight that each of their losses got."""

from dataclasses import dataclass
from math import isfinite

from grader.scripts.facts import BackwardRan, Clipped, Facts, LossComputed, ScalerCalled, Stepped

_MEAN = ("mean", "batchmean")

SCALE_FREE = ("Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "RMSprop", "Adadelta", "Lion")
"""Optimizers whose updates hardly depend on the gradients' length."""


@dataclass(frozen=True, slots=True)
class Window:
    """One step of an optimizer with the backwards of one line that it read."""

    step: Stepped
    backwards: list[BackwardRan]


def windows(facts: Facts, optimizer: int) -> list[Window]:
    """Return the windows of an optimizer's plain steps, without what earlier steps had read."""
    known = {one.number: one for one in facts.of(BackwardRan)}
    return [
        Window(step, [known[number] for number in step.window if number in step.recipe])
        for step in facts.steps(optimizer)
        if step.recipe and not step.closure
    ]


def usual_length(found: list[Window]) -> int:
    """Return the middle of the windows' lengths; 0 if there are none."""
    lengths = sorted(len(one.backwards) for one in found)
    return lengths[len(lengths) // 2] if lengths else 0


def one_line(window: Window) -> bool:
    """Return True if all backwards of a window stand in one line."""
    return len({one.place for one in window.backwards}) == 1


def mean_loss(facts: Facts, backward: BackwardRan) -> LossComputed | None:
    """Return the only loss behind a backward, if it is a mean with a known value."""
    if len(backward.losses) != 1:
        return None
    loss = facts.events[backward.losses[0]]
    if not isinstance(loss, LossComputed) or loss.reduction not in _MEAN or loss.value is None:
        return None
    return loss


def total_weight(facts: Facts, window: Window) -> float | None:
    """Return the sum of the weights with which the mean losses of a window went into its update; None if unknown.

    A window that is divided by its length has 1, one that is not divided has its length.
    """
    total = 0.0
    for backward in window.backwards:
        loss = mean_loss(facts, backward)
        if loss is None or loss.value is None or backward.value is None:
            return None
        value = float(loss.value)
        if not isfinite(value) or abs(value) < 1e-8:
            return None
        weight = window.step.recipe[backward.number] / _shrunk(facts, backward, window.step)
        total += float(backward.value) / value * weight
    return total if isfinite(total) else None


def _shrunk(facts: Facts, backward: BackwardRan, step: Stepped) -> float:
    """Return the factor by which clipping shortened a backward's contribution before a step read it."""
    factor = 1.0
    for event in facts.between(backward.serial, step.serial):
        if isinstance(event, Clipped) and event.norm is not None and event.method == "norm":
            norm = float(event.norm)
            if isfinite(norm) and norm > event.limit > 0:
                factor *= event.limit / (norm + 1e-6)
    return factor


def scaled(facts: Facts, backward: BackwardRan) -> ScalerCalled | None:
    """Return the `scaler.scale` call whose result a backward began from."""
    for event in reversed(facts.events[: backward.serial]):
        if isinstance(event, ScalerCalled) and event.method == "scale":
            return event
        if isinstance(event, BackwardRan | Stepped):
            return None
    return None
