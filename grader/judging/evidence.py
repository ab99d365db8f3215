"""Gather what shows a learner that the program is wrong: the first difference, the order of events, and the recipe."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch

from grader.course.feedback import FirstDifference, Moment, Recipe
from grader.judging.event_orders import timelines
from grader.judging.explain import Explanation
from grader.judging.first_difference import describe_first_difference, update_of
from grader.judging.judge import Verdict
from grader.judging.recipe import recover_recipe
from grader.judging.reference import Reference
from grader.observe.play import Env
from grader.observe.trace import Trace


@dataclass(frozen=True)
class Evidence:
    """What shows that a program is wrong; empty for one that passed, or of which nothing could be compared."""

    first_difference: FirstDifference | None = None
    yours: tuple[Moment, ...] = ()
    """The learner's timeline of events, with lines of the program."""
    right: tuple[Moment, ...] = ()
    """The solution's timeline beside it."""
    recipe: Recipe | None = None


def gather_evidence(
    explanation: Explanation, trace: Trace, verdict: Verdict, reference: Reference
) -> Evidence:
    """Return the evidence, from the first scenario that stays unexplained, or else the first that is wrong.

    Without the learner's run of that scenario, it is only the first difference.

    Args:
        explanation: what explains the submission.
        trace: the submission's trace.
        verdict: its verdict.
        reference: what it was judged by.
    """
    if not verdict.differences:
        return Evidence()
    told = next(iter(explanation.unexplained or verdict.differences))
    run, scenario = trace.runs.get(told), reference.exercise.driver[told]
    first = describe_first_difference(scenario, verdict.differences[told], run, reference.solution(told))
    if run is None:
        return Evidence(first)
    names = tuple(dict.fromkeys((told, *verdict.differences)))
    yours, right = _timelines(names, trace, verdict, reference)
    return Evidence(first, yours, right, _recipe(names, trace, verdict, reference))


def _timelines(
    names: Iterable[str], trace: Trace, verdict: Verdict, reference: Reference
) -> tuple[tuple[Moment, ...], tuple[Moment, ...]]:
    """Return the learner's and the solution's timeline for the first of these scenarios.

    If these do not differ, return those of the first scenario in which they do. Empty if no scenario has a run.
    """
    first = None
    for name in names:
        run = trace.runs.get(name)
        if run is None:
            continue
        solution = reference.solution(name)
        both = timelines(run, solution, update_of(verdict.differences[name], run, solution))
        if any(moment.differs for side in both for moment in side):
            return both
        first = first or both
    return first or ((), ())


def _recipe(names: tuple[str, ...], trace: Trace, verdict: Verdict, reference: Reference) -> Recipe | None:
    """Return the recipe of the first wrong update, in the first of these scenarios that has one."""
    driver = reference.exercise.driver
    for name in names:
        run, solution = trace.runs.get(name), reference.solution(name)
        update = update_of(verdict.differences[name], run, solution)
        if run is None or update is None:
            continue
        env = Env(reference.seed, torch.device(reference.device), name)
        recipe = recover_recipe(driver[name], run, solution, update, env)
        if recipe is not None:
            return recipe if name == names[0] else replace(recipe, scenario=driver[name].title)
    return None
