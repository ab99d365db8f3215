"""Gather what shows a learner that the program is wrong: first difference, order of events, and recipe."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch

from grader.course.feedback import FirstDifference, Moment, Recipe
from grader.judging.event_orders import timelines, unpaired_events
from grader.judging.explain import Explanation
from grader.judging.first_difference import describe_first_difference, first_wrong_update
from grader.judging.judge import Verdict
from grader.judging.recipe import recover_recipe
from grader.judging.reference import Reference
from grader.observe.play import Env
from grader.observe.trace import Trace

_RETURNED = "반환 타입"
"""Name of the fact in which drivers record the type of what was returned, and those of its items."""
_MAX_TYPE_CHARACTERS = 60
"""Maximum number of characters shown of a type's name, because a forged trace may hold any."""


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
    line: int | None = None
    """Line of the program of the first event that differs and may be what is wrong; None if there is none."""


def gather_evidence(
    explanation: Explanation, trace: Trace, verdict: Verdict, reference: Reference
) -> Evidence:
    """Return the evidence from the scenario that feedback talks about.

    This is the first scenario that stays unexplained, or else one in which the mistake shows whose line is shown
    (`_scenario_to_show`). Its orders of events may be equal, or it may have no recipe; then they come from the first
    other wrong scenario that has something to show. If the trace has no run of the scenario, the evidence is only the
    first difference.

    Args:
        explanation: what explains the submission.
        trace: the submission's trace.
        verdict: its verdict.
        reference: what it was judged by.
    """
    if not verdict.differences:
        return Evidence()
    name = _scenario_to_show(explanation, verdict)
    run, scenario = trace.runs.get(name), reference.exercise.driver[name]
    first = describe_first_difference(
        scenario,
        verdict.differences[name],
        run,
        reference.solution_run(name),
        instead_of_list=_returned_instead_of_list(trace, reference),
    )
    if run is None:
        return Evidence(first)
    names = tuple(dict.fromkeys((name, *verdict.differences)))  # without the second `name`
    shown, yours, right = _timelines(names, trace, verdict, reference)
    title = "" if shown in ("", names[0]) else reference.exercise.driver[shown].title
    harmless = _harmless_clears(trace, verdict, reference)
    suspects = (m for m in yours if m.differs and not (m.kind == "zero_grad" and m.line in harmless))
    line = next((moment.line for moment in suspects if moment.line is not None), None)
    return Evidence(first, yours, right, title, _recipe(names, trace, verdict, reference), line)


def _harmless_clears(trace: Trace, verdict: Verdict, reference: Reference) -> set[int | None]:
    """Return the lines that clear gradients where the solution does not, in scenarios in which the learner is right.

    Such a line does no harm. For events of other kinds, a right scenario does not prove that they do no harm: an
    additional update without gradients changes nothing with SGD, but does with AdamW.
    """
    right = [(name, run) for name, run in trace.runs.items() if name not in verdict.differences]
    return {
        event.line
        for name, run in right
        for event in unpaired_events(run, reference.solution_run(name))
        if event.kind == "zero_grad"
    }


def _returned_instead_of_list(trace: Trace, reference: Reference) -> str:
    """Return the name of the type that is returned where the solution returns a list; empty if it is `list`, too."""
    for scenario in reference.exercise.driver.scenarios:
        run, expected = (
            trace.runs.get(scenario.name),
            reference.solution_run(scenario.name).facts.get(_RETURNED),
        )
        got = None if run is None else run.facts.get(_RETURNED)
        if isinstance(expected, list) and expected[:1] == ["list"] and isinstance(got, list) and got:
            kind = str(got[0])
            return "" if kind == "list" else kind[:_MAX_TYPE_CHARACTERS]
    return ""


def _scenario_to_show(explanation: Explanation, verdict: Verdict) -> str:
    """Return the first unexplained scenario (without named mistakes: the first wrong one), if there is one.

    If all are explained, return the scenario in which the first mistake shows together with the fewest others. Feedback
    points at the line of the first mistake, so the evidence should come from this mistake alone.
    """
    if explanation.unexplained or not explanation.mistakes:
        return next(iter(explanation.unexplained or verdict.differences))
    shows = [name for name in verdict.differences if name in explanation.mistakes[0].scenarios]
    others = explanation.mistakes[1:]
    return min(
        shows or verdict.differences, key=lambda name: sum(name in mistake.scenarios for mistake in others)
    )


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
        solution = reference.solution_run(name)
        yours, right = timelines(run, solution, first_wrong_update(verdict.differences[name], run, solution))
        if any(moment.differs for moment in (*yours, *right)):
            return name, yours, right
        fallback = fallback or (name, yours, right)
    return fallback or ("", (), ())


def _recipe(names: tuple[str, ...], trace: Trace, verdict: Verdict, reference: Reference) -> Recipe | None:
    """Return the recipe of the first wrong update, in the first of these scenarios that has one."""
    driver = reference.exercise.driver
    for name in names:
        run, solution = trace.runs.get(name), reference.solution_run(name)
        update = first_wrong_update(verdict.differences[name], run, solution)
        if run is None or update is None:
            continue
        env = Env(reference.seed, torch.device(reference.device), name)
        recipe = recover_recipe(driver[name], run, solution, update, env)
        if recipe is not None:
            return recipe if name == names[0] else replace(recipe, scenario=driver[name].title)
    return None
