"""Choose among combinations of known mistakes that give the same results, by how their programs work.

How a program works is read from its runs, mostly from their events: which of `backward`, `step`, `clip` it calls, in
which order and how often, coarsely enough that right programs of different styles usually agree (`_WorkFingerprint`).

Example: under SGD, the parameters stay as they are both without `backward` and without `step`. The events of the
learner's program show which of the two is missing.

`explain.py` calls `break_tie` with the combinations that `mistake_search.py` found. To tell apart two mistakes by
something else that programs do: a field of `_WorkFingerprint`, and its value in `_work_fingerprint`. What only the
learner's text tells belongs into `twins_by_text.py`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields

from grader.judging.edits import Combination, ids_of
from grader.judging.mistake_search import FoundMistakes
from grader.judging.reference import Reference
from grader.observe.trace import Event, Run, Trace

_KINDS_ORDERED_AGAINST_CLIP = frozenset({"backward", "first_step", "step"})
"""Kinds of events whose order against clipping is compared: wrong programs may clip too early or too late."""


@dataclass(frozen=True)
class _WorkFingerprint:
    """How a program works, in coarse terms.

    The order of the fields counts: in one scenario, a combination that agrees with the learner in an earlier field
    wins, whatever the later ones say; and what an earlier scenario decides is decided. (To compare the first field in
    all scenarios first took twice as many plays, and named no mistake otherwise in 1,650 programs of
    `tests/first_tries` and `tests/rejected`.) Right programs usually agree in the fields up to `gradients_at_step`;
    `leaves_gradients` and the fields after it may vary with where and how gradients are computed and cleared, so they
    only break remaining ties.

    Fields are compared for equality only: a number that is nearer counts no more than one that is far. No field may
    read an event's line or what was printed, because explanations are remembered by a digest without them
    (`run_digest`).
    """

    calls_backward: bool
    reaches_parameters: bool
    """True if a gradient arrives at the first trainable parameter (see `Event.kind`)."""
    calls_step: bool
    step_precedes_backward: bool
    """True if the first `step` comes before the first `backward`."""
    kinds_before_clip: frozenset[str] | None
    """Which of `_KINDS_ORDERED_AGAINST_CLIP` occur before the first clipping; None if the program never clips."""
    gradients_at_step: frozenset[str | None]
    """What the optimizer found in `.grad` at its steps (see `Event.gradients`), in all calls."""
    leaves_gradients: bool
    """True if a gradient other than 0 is left in `.grad` at the end of the run, after all calls."""
    step_count: int
    """Number of steps of the optimizer."""
    backward_surplus: int
    """1 if there are more backward passes than different batches that went forward, 0 if as many, -1 if fewer.

    1 also if the program calls `torch.autograd.grad`, else 0 if no forward pass of a known batch was noted.
    """


def break_tie(found: FoundMistakes, trace: Trace, reference: Reference) -> list[Combination]:
    """Return the combinations that work most like the submission; several if they work alike.

    These are the combinations found, or others that differ from one of them in the variant of one mistake only: one
    that behaves alike when made alone, but works more like the submission. The list is empty if nothing was found, or
    if the programs of all combinations touch the model and the submission does not. Scenarios are compared one after
    the other, until all combinations left make the same mistakes.

    Args:
        found: combinations that explain the submission equally well.
        trace: the submission's trace.
        reference: the runs with which the submission was compared.
    """
    kept = list(found.combinations)
    if not any(run.events for run in trace.runs.values()):
        # The submission does not touch the model at all. A program that does cannot work like it.
        kept = [
            combination for combination in kept if not _program_has_events(combination, trace.runs, reference)
        ]
    if _make_different_mistakes(kept):
        kept = _add_equivalent_variants(kept, reference)
    for name in _scenarios_to_compare(found, trace, reference):
        if not _make_different_mistakes(kept):
            break
        if name in found.explained:
            kept = [
                combination
                for combination in kept
                if combination in found.combinations
                or _reproduces(combination, name, trace.runs[name], reference)
            ]
        runs = [_run_of(combination, name, reference) for combination in kept]
        kept = _most_alike_in_scenario(kept, trace.runs[name], runs)
    return kept


def _run_of(combination: Combination, scenario: str, reference: Reference) -> Run | None:
    """Return the run of the program with these mistakes.

    If their edits cannot be combined, return the run of those that act in the scenario, by which the search compared
    them (`AgreementOracle.whole_set_agrees`); None if even these cannot be combined.
    """
    run = reference.run_with_mistakes(combination, scenario)
    if run is not None:
        return run
    acting = [variant for variant in combination if reference.behaviour(variant, scenario) != 0]
    return reference.run_with_mistakes(acting, scenario)


def _program_has_events(combination: Combination, scenarios: Iterable[str], reference: Reference) -> bool:
    """Return True if the program with these mistakes has an event in one of the scenarios."""
    runs = (_run_of(combination, name, reference) for name in scenarios)
    return any(run is not None and run.events for run in runs)


def _make_different_mistakes(combinations: Sequence[Combination]) -> bool:
    """Return True if two of the combinations make different mistakes, not only different variants of the same ones."""
    return len({ids_of(combination) for combination in combinations}) > 1


def _add_equivalent_variants(combinations: Sequence[Combination], reference: Reference) -> list[Combination]:
    """Return each combination, followed by those with one mistake made in another variant that behaves alike.

    The search keeps one of the variants that behave alike; another may work more like the learner's program.
    """
    extended: list[Combination] = []
    for combination in combinations:
        extended += (combination, *_with_equivalent_variants(combination, reference))
    return list(dict.fromkeys(extended))  # without duplicates, in this order


def _with_equivalent_variants(combination: Combination, reference: Reference) -> Iterator[Combination]:
    """Yield the combination once for each other variant of one of its mistakes with which a program can be made.

    The variant behaves like the other one when both are made alone, with the seed of the behaviour table. Beside the
    other mistakes it may behave in another way (`_reproduces`).
    """
    for index, variant in enumerate(combination):
        for other in reference.equivalent_variants(variant):
            exchanged = (*combination[:index], other, *combination[index + 1 :])
            if reference.source_with_mistakes(exchanged) is not None:
                yield exchanged


def _reproduces(combination: Combination, scenario: str, learner_run: Run, reference: Reference) -> bool:
    """Return True if the program with these mistakes, which can be made, gives the learner's run of a scenario."""
    source = reference.source_with_mistakes(combination)
    return source is not None and reference.reproduces(source, scenario, learner_run)


def _scenarios_to_compare(found: FoundMistakes, trace: Trace, reference: Reference) -> Iterator[str]:
    """Yield the names of the explained scenarios, and of the driver's first one if no exception cut that short.

    In a scenario that is not explained, something unknown is wrong, too, so its events may mislead; in one that is
    right, no mistake shows, and right programs of different styles may differ. The first one is compared even so: it is
    usually the plainest call, in which the way of working shows best.
    """
    first_scenario = reference.exercise.driver.scenarios[0].name
    for name, run in trace.runs.items():
        is_cut_short = run.failure is not None
        if name in found.explained or (name == first_scenario and not is_cut_short):
            yield name


def _most_alike_in_scenario(
    combinations: Sequence[Combination], learner_run: Run, runs: Sequence[Run | None]
) -> list[Combination]:
    """Return the combinations that work most like the learner's program in one scenario.

    Args:
        combinations: combinations of mistakes.
        learner_run: the learner's run.
        runs: the run of each combination, in the same order; None agrees in nothing.
    """
    fingerprint = _work_fingerprint(learner_run)
    agreements = [
        () if run is None else _agreeing_fields(fingerprint, _work_fingerprint(run)) for run in runs
    ]
    best = max(agreements)
    return [
        combination
        for combination, agreement in zip(combinations, agreements, strict=True)
        if agreement == best
    ]


def _agreeing_fields(one: _WorkFingerprint, other: _WorkFingerprint) -> tuple[bool, ...]:
    """Return for each field, in order, True if it is equal.

    Of two such tuples, the larger is the one that agrees in the first field in which only one of them agrees.
    """
    return tuple(getattr(one, f.name) == getattr(other, f.name) for f in fields(_WorkFingerprint))


def _work_fingerprint(run: Run) -> _WorkFingerprint:
    """Return how a program works, by the events of the first call that has any; fields that look at all calls say so.

    That need not be call 0: the first call of a class makes an object, in which nothing happens yet.
    """
    first_call = min((event.call for event in run.events), default=0)
    events = [event for event in run.events if event.call == first_call]
    kinds = [event.kind for event in events]
    batches = {event.batch for event in events if event.kind == "forward" and event.batch is not None}
    gradients_left = run.evidence.get("gradients_left")
    has_both = "step" in kinds and "backward" in kinds
    before_clip = frozenset(kinds[: kinds.index("clip")]) if "clip" in kinds else None
    return _WorkFingerprint(
        calls_backward="backward" in kinds,
        reaches_parameters="gradient" in kinds,
        calls_step="step" in kinds,
        step_precedes_backward=has_both and kinds.index("step") < kinds.index("backward"),
        kinds_before_clip=None if before_clip is None else before_clip & _KINDS_ORDERED_AGAINST_CLIP,
        gradients_at_step=frozenset(event.gradients for event in run.events if event.kind == "step"),
        leaves_gradients=gradients_left is not None and bool(gradients_left.any()),
        step_count=kinds.count("step"),
        backward_surplus=_backward_surplus(events, len(batches)),
    )


def _backward_surplus(events: Sequence[Event], batch_count: int) -> int:
    """Return what the field `backward_surplus` of `_WorkFingerprint` says.

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
