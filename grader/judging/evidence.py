"""Gather what shows a learner that the program is wrong: first difference, order of events, and recipe."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch

from grader.course.feedback import FirstDifference, Moment, Recipe
from grader.judging.event_orders import timelines
from grader.judging.explain import Explanation
from grader.judging.first_difference import describe_first_difference, first_wrong_update
from grader.judging.judge import Verdict
from grader.judging.recipe import recover_recipe
from grader.judging.reference import Reference
from grader.observe.play import Env
from grader.observe.trace import Trace


@dataclass(frozen=True)
class Evidence:
    """What shows that a program is wrong; empty if the program passed, or if it could not be loaded."""

    first_difference: FirstDifference | None = None
    """The first difference in the scenario that feedback talks about."""
    yours: tuple[Moment, ...] = ()
    """The learner's timeline of events, with lines of the program."""
    right: tuple[Moment, ...] = ()
    """The solution's timeline beside it."""
    order_scenario: str = ""
    """Title of the scenario of the timelines; empty if it is that of the first difference."""
    recipe: Recipe | None = None
    """The mixture of gradients in the first wrong update; None if it cannot be computed or is right."""


def gather_evidence(
    explanation: Explanation, trace: Trace, verdict: Verdict, reference: Reference
) -> Evidence:
    """Return the evidence from the scenario that feedback talks about.

    This is the first scenario that stays unexplained, or else the first wrong one. Its orders of events may be equal,
    or it may have no recipe; then they come from the first other wrong scenario that has something to show. If the
    trace has no run of the scenario, the evidence is only the first difference.

    Args:
        explanation: what explains the submission.
        trace: the submission's trace.
        verdict: its verdict.
        reference: what it was judged by.
    """
    if not verdict.differences:
        return Evidence()
    name = next(iter(explanation.unexplained or verdict.differences))
    run, scenario = trace.runs.get(name), reference.exercise.driver[name]
    first = describe_first_difference(scenario, verdict.differences[name], run, reference.solution(name))
    if run is None:
        return Evidence(first)
    names = tuple(dict.fromkeys((name, *verdict.differences)))  # without the second `name`
    shown, yours, right = _timelines(names, trace, verdict, reference)
    title = "" if shown in ("", names[0]) else reference.exercise.driver[shown].title
    return Evidence(first, yours, right, title, _recipe(names, trace, verdict, reference))


def _timelines(
    names: Iterable[str], trace: Trace, verdict: Verdict, reference: Reference
) -> tuple[str, tuple[Moment, ...], tuple[Moment, ...]]:
    """Return the first of these scenarios in which the timelines differ, the learner's timeline and the solution's.

    If they differ in none, return the first scenario with a run; an empty name and timelines if none has one.
    """
    fallback = None
    for name in names:
        run = trace.runs.get(name)
        if run is None:
            continue
        solution = reference.solution(name)
        yours, right = timelines(run, solution, first_wrong_update(verdict.differences[name], run, solution))
        if any(moment.differs for moment in (*yours, *right)):
            return name, yours, right
        fallback = fallback or (name, yours, right)
    return fallback or ("", (), ())


def _recipe(names: tuple[str, ...], trace: Trace, verdict: Verdict, reference: Reference) -> Recipe | None:
    """Return the recipe of the first wrong update, in the first of these scenarios that has one."""
    driver = reference.exercise.driver
    for name in names:
        run, solution = trace.runs.get(name), reference.solution(name)
        update = first_wrong_update(verdict.differences[name], run, solution)
        if run is None or update is None:
            continue
        env = Env(reference.seed, torch.device(reference.device), name)
        recipe = recover_recipe(driver[name], run, solution, update, env)
        if recipe is not None:
            return recipe if name == names[0] else replace(recipe, scenario=driver[name].title)
    return None
