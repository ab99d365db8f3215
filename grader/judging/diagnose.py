"""Verdict and trace -> Diagnosis: the known mistake that behaves the same, or the honest answer that none does."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from grader.course import Exercise, Mistake
from grader.feedback import Diagnosis, Named
from grader.judging.edits import Candidate
from grader.judging.first_difference import describe_first_difference, update_of
from grader.judging.judge import Verdict
from grader.judging.recipe import recover_recipe
from grader.judging.reference import Reference
from grader.judging.timelines import timelines
from grader.observe.play import Env
from grader.observe.trace import Run, Trace


def diagnose(exercise: Exercise, trace: Trace, verdict: Verdict, reference: Reference) -> Diagnosis:
    """Why a submission that does not pass is wrong.

    Single mistakes first; pairs only when no single one fits. Mistakes that behave the same are told apart by
    the order of events where that helps, and otherwise named together.
    """
    if verdict.status == "passed" or not verdict.differences:
        return Diagnosis()
    import torch

    matching = _matching(trace, reference, reference.singles)
    if not matching and _comparable(trace, reference):
        matching = _matching(trace, reference, reference.pairs_to_try(trace.runs)) or _matching(
            trace, reference, reference.rarer_pairs
        )
    named = _named(matching, trace, reference)
    scenario_name, found = next(iter(verdict.differences.items()))
    scenario = exercise.driver[scenario_name]
    run, solution = trace.runs.get(scenario_name), reference.solution(scenario_name)
    first = describe_first_difference(scenario, found, run, solution)
    if run is None:
        return Diagnosis(named, first)
    yours, right = timelines(run, solution, update_of(found, run, solution))
    recipe = None
    for name, other in verdict.differences.items():
        described, its_run = exercise.driver[name], trace.runs.get(name)
        update = update_of(other, its_run, reference.solution(name))
        if its_run is not None and update is not None:
            env = Env(reference.seed, torch.device(reference.device), name)
            recipe = recover_recipe(described, its_run, reference.solution(name), update, env)
        if recipe is not None:
            recipe = recipe if name == scenario_name else replace(recipe, scenario=described.title)
            break
    return Diagnosis(named, first, yours, right, recipe)


def _matching(trace: Trace, reference: Reference, candidates: Iterable[Candidate]) -> list[Candidate]:
    """Candidates that behave as the submission does in every scenario.

    A program that ran nothing at all has not made the mistakes of one that ran something.
    """
    scenarios = [s.name for s in reference.exercise.driver.scenarios]
    idle = not any(run.events for run in trace.runs.values())
    return [
        candidate
        for candidate in candidates
        if reference.behaves_like(candidate, trace.runs)
        and not (idle and any(reference.run(candidate, name).events for name in scenarios))
    ]


def _comparable(trace: Trace, reference: Reference) -> bool:
    """Whether the states have the solution's width: else no pair fits, and each would be played to its end."""
    for scenario in reference.exercise.driver.scenarios:
        name = scenario.name
        theta = trace.runs[name].arrays.get("theta") if name in trace.runs else None
        right = reference.solution(name).arrays.get("theta")
        if right is not None and (theta is None or theta.shape[1:] != right.shape[1:]):
            return False
    return True


def _named(matching: list[Candidate], trace: Trace, reference: Reference) -> tuple[Named, ...]:
    if not matching:
        return ()
    if len({c.ids for c in matching}) > 1:
        matching = _closest(matching, trace, reference)
    length = len(matching[0].mistakes)
    if length == 1:
        return (_joined([c.mistakes[0] for c in matching]),)
    return _named_pair(matching, reference)


def _named_pair(matching: list[Candidate], reference: Reference) -> tuple[Named, ...]:
    """One pair. Each half names its twins too: they behave the same and stand in its place in another matching pair."""
    chosen = matching[0]
    halves = []
    for half, partner in (chosen.mistakes, chosen.mistakes[::-1]):
        twins = [half]
        for candidate in matching[1:]:
            others = [m for m in candidate.mistakes if m.id != partner.id]
            if len(others) == 1 and partner.id in candidate.ids and _twins(half, others[0], reference):
                twins.append(others[0])
        halves.append(_joined(_in_course_order(twins, reference)))
    return tuple(halves)


def _twins(one: Mistake, other: Mistake, reference: Reference) -> bool:
    """Whether two single mistakes behave the same in every scenario."""
    first = next(c for c in reference.singles if c.mistakes[0].id == one.id)
    scenarios = reference.exercise.driver.scenarios
    runs = {s.name: reference.run(first, s.name) for s in scenarios}
    return any(reference.behaves_like(c, runs) for c in reference.singles if c.mistakes[0].id == other.id)


def _in_course_order(mistakes: list[Mistake], reference: Reference) -> list[Mistake]:
    return [m for m in reference.exercise.mistakes if m.id in {t.id for t in mistakes}]


def _joined(mistakes: list[Mistake]) -> Named:
    unique = list({m.id: m for m in mistakes}.values())
    return Named(
        ids=tuple(m.id for m in unique),
        titles=tuple(m.title for m in unique),
        explain=unique[0].explain,
        hint=unique[0].hint,
    )


@dataclass(frozen=True)
class _Manner:
    """How a program does its work, so coarse that it is the same in every style. It is used only to break ties.

    The most telling fields come first. Later fields also depend on where a program clears its gradients.
    """

    calls_backward: bool
    reaches_parameters: bool
    steps: bool
    steps_before_backward: bool
    gradients_at_step: frozenset[str | None]
    leaves_gradients: bool
    may_add_twice: bool
    """More backward passes than batches that went forward, or gradients that the program adds up by hand."""


def _closest(matching: list[Candidate], trace: Trace, reference: Reference) -> list[Candidate]:
    """Of candidates that behave the same, those that went about it most like the submission."""
    name = reference.exercise.driver.scenarios[0].name
    if name not in trace.runs:
        return matching
    manner = _manner(trace.runs[name])
    scores = [_agreement(manner, _manner(reference.run(c, name))) for c in matching]
    return [c for c, score in zip(matching, scores, strict=True) if score == max(scores)]


def _agreement(one: _Manner, other: _Manner) -> tuple[bool, ...]:
    return tuple(getattr(one, f) == getattr(other, f) for f in _Manner.__dataclass_fields__)


def _manner(run: Run) -> _Manner:
    kinds = [e.kind for e in run.events if e.call == 0]
    step, backward = _first(kinds, "step"), _first(kinds, "backward")
    left = run.evidence.get("gradients_left")
    forward = {e.batch for e in run.events if e.call == 0 and e.kind == "forward" and e.batch is not None}
    by_hand = any(e.by_hand for e in run.events if e.call == 0)
    return _Manner(
        calls_backward=backward is not None,
        reaches_parameters="gradient" in kinds,
        steps=step is not None,
        steps_before_backward=step is not None and backward is not None and step < backward,
        gradients_at_step=frozenset(e.gradients for e in run.events if e.kind == "step"),
        leaves_gradients=left is not None and bool(left.any()),
        may_add_twice=kinds.count("backward") > len(forward) > 0 or by_hand,
    )


def _first(kinds: list[str], kind: str) -> int | None:
    return kinds.index(kind) if kind in kinds else None
