"""Choose among combinations of mistakes with the same results by how they work: which events occur, in which order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.judging.edits import Combination, ids_of
from grader.judging.mistake_search import FoundMistakes
from grader.judging.reference import Reference
from grader.observe.trace import Run, Trace

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


def most_alike(found: FoundMistakes, trace: Trace, reference: Reference) -> list[Combination]:
    """Return the combinations that work most like the submission, by the order and kind of their events.

    A program that ran nothing at all has not made the mistakes of one that ran something.

    Args:
        found: combinations that explain the submission equally well.
        trace: the submission's trace.
        reference: what it was judged by.
    """
    kept = list(found.combinations)
    if not any(run.events for run in trace.runs.values()):
        kept = [c for c in kept if not any(reference.run_of_all(c, name).events for name in trace.runs)]
    if _are_different_mistakes(kept):
        kept = list(dict.fromkeys(other for c in kept for other in (c, *_same_behaviour(c, reference))))
    first = reference.exercise.driver.scenarios[0].name
    for name in trace.runs:
        if not _are_different_mistakes(kept):
            break
        if name == first or name in found.explained:
            kept = _of_the_same_style(kept, trace.runs[name], [reference.run_of_all(c, name) for c in kept])
    return kept


def _are_different_mistakes(combinations: Sequence[Combination]) -> bool:
    """Return True if there are at least two combinations of different mistakes, not only of different variants."""
    return len({ids_of(combination) for combination in combinations}) > 1


def _same_behaviour(combination: Combination, reference: Reference) -> Iterator[Combination]:
    """Yield the combination with one of its mistakes in another variant that behaves alike in every scenario."""
    for number, variant in enumerate(combination):
        for other in reference.equivalent_variants(variant):
            yield (*combination[:number], other, *combination[number + 1 :])


def _of_the_same_style(
    combinations: Sequence[Combination], run: Run, runs: Sequence[Run]
) -> list[Combination]:
    """Return the combinations whose `runs` work most like the learner's `run`; all are expected to have its results."""
    style = _work_style(run)
    scores = [_agreement(style, _work_style(other)) for other in runs]
    return [c for c, score in zip(combinations, scores, strict=True) if score == max(scores)]


def _agreement(one: _WorkStyle, other: _WorkStyle) -> tuple[bool, ...]:
    """Return for each field whether both agree; compared as tuples, earlier fields decide first."""
    return tuple(getattr(one, f) == getattr(other, f) for f in _WorkStyle.__dataclass_fields__)


def _work_style(run: Run) -> _WorkStyle:
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
