"""Tell apart programs with the same results by how they work: which events occur, and in which order.

Diagnoses use it for sets of mistakes that behave alike.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from grader.observe.trace import Run

_T = TypeVar("_T")

_BEFORE_CLIP_KINDS = frozenset({"backward", "first_step", "step"})
"""Kinds of events that clipping depends on."""


@dataclass(frozen=True)
class _WorkStyle:
    """How a program works, described so coarsely that right programs in every style agree; used only to break ties.

    The most telling fields come first. Later fields also depend on where a program clears its gradients.
    """

    calls_backward: bool
    reaches_parameters: bool
    steps: bool
    steps_before_backward: bool
    before_clip: frozenset[str] | None
    """Kinds in `_BEFORE_CLIP_KINDS` that occur before the first clipping; None if the program never clips."""
    gradients_at_step: frozenset[str | None]
    """States of `.grad` found by the optimizer at its steps (see `Event.gradients`)."""
    leaves_gradients: bool
    """True if gradients are left in `.grad` at the end."""
    updates: int
    """Number of calls of `step`."""
    backward_passes: int
    """Number of backward passes against the number of batches that went forward: 1 more, 0 as many, -1 fewer.

    1 also if the program adds up gradients by hand; 0 if no forward pass was recognised.
    """


def closest(candidates: Sequence[_T], run: Run, run_of: Callable[[_T], Run]) -> list[_T]:
    """Return the candidates that work most like `run`; all of them are expected to behave the same."""
    manner = _manner(run)
    scores = [_agreement(manner, _manner(run_of(c))) for c in candidates]
    return [c for c, score in zip(candidates, scores, strict=True) if score == max(scores)]


def _agreement(one: _WorkStyle, other: _WorkStyle) -> tuple[bool, ...]:
    """Return for each field whether both agree; compared as tuples, earlier fields decide first."""
    return tuple(getattr(one, f) == getattr(other, f) for f in _WorkStyle.__dataclass_fields__)


def _manner(run: Run) -> _WorkStyle:
    """Describe how a program works by the events of its first call; `gradients_at_step` uses every call."""
    kinds = [e.kind for e in run.events if e.call == 0]
    step, backward = _first(kinds, "step"), _first(kinds, "backward")
    left = run.evidence.get("gradients_left")
    forward = {e.batch for e in run.events if e.call == 0 and e.kind == "forward" and e.batch is not None}
    by_hand = any(e.by_hand for e in run.events if e.call == 0)
    return _WorkStyle(
        calls_backward=backward is not None,
        reaches_parameters="gradient" in kinds,
        steps=step is not None,
        steps_before_backward=step is not None and backward is not None and step < backward,
        before_clip=frozenset(kinds[: kinds.index("clip")]) & _BEFORE_CLIP_KINDS if "clip" in kinds else None,
        gradients_at_step=frozenset(e.gradients for e in run.events if e.kind == "step"),
        leaves_gradients=left is not None and bool(left.any()),
        updates=kinds.count("step"),
        backward_passes=1 if by_hand else _sign(kinds.count("backward") - len(forward)) if forward else 0,
    )


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def _first(kinds: list[str], kind: str) -> int | None:
    return kinds.index(kind) if kind in kinds else None
