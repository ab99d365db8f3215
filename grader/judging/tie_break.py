"""Choose among combinations of known mistakes that give the same results, by how their programs work.

How a program works is read from the events of its runs: which of `backward`, `step`, `clip` it calls, in which order
and how often. Right programs in every style agree in what is compared here (`_WorkStyle`).

Example: under SGD, the parameters stay as they are both without `backward` and without `step`. The events of the
learner's program show which of the two is missing.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields

from grader.judging.edits import Combination, ids_of
from grader.judging.mistake_search import FoundMistakes
from grader.judging.reference import Reference
from grader.observe.trace import Event, Run, Trace

_BEFORE_CLIP_KINDS = frozenset({"backward", "first_step", "step"})
"""Kinds of events that come before clipping in some programs and after it in others."""


@dataclass(frozen=True)
class _WorkStyle:
    """How a program works, so coarsely that right programs in every style agree.

    The order of the fields counts: a combination that agrees with the learner in an earlier field wins, whatever the
    later ones say. The last fields come last because they also depend on where a program clears its gradients.
    """

    calls_backward: bool
    reaches_parameters: bool
    """True if a gradient arrives at a parameter."""
    calls_step: bool
    steps_before_backward: bool
    """True if the first `step` comes before the first `backward`."""
    kinds_before_clip: frozenset[str] | None
    """Which of `_BEFORE_CLIP_KINDS` occur before the first clipping; None if the program never clips."""
    gradients_at_step: frozenset[str | None]
    """What the optimizer found in `.grad` at its steps (see `Event.gradients`), in all calls."""
    leaves_gradients: bool
    """True if a gradient other than 0 is left in `.grad` at the end of the run."""
    step_count: int
    """Number of calls of `step`."""
    backward_surplus: int
    """1 if there are more backward passes than batches that went forward, 0 if as many, -1 if fewer.

    1 also if the program adds up gradients by hand (`torch.autograd.grad`); 0 if no forward pass was recognised.
    """


def break_tie(found: FoundMistakes, trace: Trace, reference: Reference) -> list[Combination]:
    """Return those of the combinations found that work most like the submission; several if they work alike.

    Scenarios are compared one after the other until the combinations that are left all make the same mistakes. Only
    explained scenarios are compared, because in others something unknown is wrong, too. The driver's first scenario is
    compared even so, unless an exception cut it short.

    Args:
        found: combinations that explain the submission equally well.
        trace: the submission's trace.
        reference: the runs with which the submission was compared.
    """
    kept = list(found.combinations)
    if not any(run.events for run in trace.runs.values()):
        # The submission does not touch the model at all, so the programs of other combinations must not, either.
        kept = [c for c in kept if not _has_events(c, trace.runs, reference)]
    if _make_different_mistakes(kept):
        # The search keeps one of the variants that behave alike; another may work more like the learner's program.
        with_variants = [other for c in kept for other in (c, *_with_equivalent_variants(c, reference))]
        kept = list(dict.fromkeys(with_variants))
    first_scenario = reference.exercise.driver.scenarios[0].name
    for name, run in trace.runs.items():
        if not _make_different_mistakes(kept):
            break
        is_cut_short = run.failure is not None
        if name in found.explained or (name == first_scenario and not is_cut_short):
            runs = [reference.run_with_mistakes(combination, name) for combination in kept]
            kept = _break_tie_in_scenario(kept, run, runs)
    return kept


def _has_events(combination: Combination, scenarios: Iterable[str], reference: Reference) -> bool:
    """Return True if the program with these mistakes has an event in one of the scenarios."""
    return any(reference.run_with_mistakes(combination, name).events for name in scenarios)


def _make_different_mistakes(combinations: Sequence[Combination]) -> bool:
    """Return True if two of the combinations make different mistakes, not only different variants of the same ones."""
    return len({ids_of(combination) for combination in combinations}) > 1


def _with_equivalent_variants(combination: Combination, reference: Reference) -> Iterator[Combination]:
    """Yield the combination with one mistake made in another variant that behaves alike in every scenario."""
    for index, variant in enumerate(combination):
        for other in reference.equivalent_variants(variant):
            yield (*combination[:index], other, *combination[index + 1 :])


def _break_tie_in_scenario(
    combinations: Sequence[Combination], learner_run: Run, runs: Sequence[Run]
) -> list[Combination]:
    """Return the combinations that work most like the learner's program in one scenario.

    Args:
        combinations: combinations of mistakes.
        learner_run: the learner's run.
        runs: the run of each combination, in the same order.
    """
    style = _work_style(learner_run)
    agreements = [_agreeing_fields(style, _work_style(run)) for run in runs]
    best = max(agreements)
    return [c for c, agreement in zip(combinations, agreements, strict=True) if agreement == best]


def _agreeing_fields(one: _WorkStyle, other: _WorkStyle) -> tuple[bool, ...]:
    """Return for each field, in order, True if it is equal. Of two such tuples, the larger agrees in earlier fields."""
    return tuple(getattr(one, f.name) == getattr(other, f.name) for f in fields(_WorkStyle))


def _work_style(run: Run) -> _WorkStyle:
    """Return how a program works, by the events of its first call; fields that look at all calls say so."""
    events = [e for e in run.events if e.call == 0]
    kinds = [e.kind for e in events]
    batches = {e.batch for e in events if e.kind == "forward" and e.batch is not None}
    gradients_left = run.evidence.get("gradients_left")
    return _WorkStyle(
        calls_backward="backward" in kinds,
        reaches_parameters="gradient" in kinds,
        calls_step="step" in kinds,
        steps_before_backward={"step", "backward"} <= set(kinds)
        and kinds.index("step") < kinds.index("backward"),
        kinds_before_clip=frozenset(kinds[: kinds.index("clip")]) & _BEFORE_CLIP_KINDS
        if "clip" in kinds
        else None,
        gradients_at_step=frozenset(e.gradients for e in run.events if e.kind == "step"),
        leaves_gradients=gradients_left is not None and bool(gradients_left.any()),
        step_count=kinds.count("step"),
        backward_surplus=_backward_surplus(events, len(batches)),
    )


def _backward_surplus(events: Sequence[Event], batch_count: int) -> int:
    """Return the field `_WorkStyle.backward_surplus`.

    Args:
        events: the events of one call.
        batch_count: number of different batches that went forward in it.
    """
    if any(event.by_hand for event in events):
        return 1
    if batch_count == 0:
        return 0
    surplus = sum(event.kind == "backward" for event in events) - batch_count
    return min(1, max(-1, surplus))
