"""Find the updates of two passes, as SAM makes them: gradients, moved weights, gradients there, and then the step.

`sam_last_micro.py` and `sam_passes.py` judge them. Another rule on such updates asks `two_pass_updates`, too.
"""

from collections.abc import Sequence
from typing import NamedTuple

from grader.scripts.facts import BackwardRan, Facts, Stepped


class TwoPassUpdate(NamedTuple):
    """One step of an optimizer, and the backward calls before it; each pass has at least one."""

    step: Stepped
    first: list[BackwardRan]
    """Those at the weights that the step before had left."""
    second: list[BackwardRan]
    """Those at the weights to which these were moved then."""


def two_pass_updates(facts: Facts, steps: Sequence[Stepped]) -> list[TwoPassUpdate]:
    """Return those of an optimizer's steps, in order, before which the weights moved once between backward calls."""
    found = []
    for before, step in zip([None, *steps], steps, strict=False):
        passes = _passes(facts, step, since=-1 if before is None else before.serial)
        if len(passes) == 2:
            found.append(TwoPassUpdate(step, *passes))
    return found


def _passes(facts: Facts, step: Stepped, since: int) -> list[list[BackwardRan]]:
    """Return the backward calls for a step since an event, those at the same weights together."""
    optimizer = step.optimizer
    passes: list[list[BackwardRan]] = []
    for event in facts.between(since, step.serial):
        if isinstance(event, BackwardRan) and optimizer in event.contributed:
            if passes and passes[-1][-1].weights.get(optimizer) == event.weights.get(optimizer):
                passes[-1].append(event)
            else:
                passes.append([event])
    return passes
