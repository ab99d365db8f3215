"""Gather what shows a learner that the program is wrong: first difference, order of events, and recipe.

All of it comes from one scenario if possible, so that the parts of the feedback belong together. `assess` calls
`gather_evidence` once, and `clearest_difference` for each named mistake. The parts themselves are made elsewhere:
`first_difference`, `event_orders`, `recipe`.

To add a kind of evidence: a field of `Evidence`, which `gather_evidence` fills, and a field of `Diagnosis`, into which
`assess._make_diagnosis` puts it.
"""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch

from grader.course.feedback import FirstDifference, Moment, Recipe
from grader.judging.compare_runs import Difference, find_difference
from grader.judging.event_orders import Timelines, timelines, unpaired_events
from grader.judging.explain import ExplainedMistake, Explanation
from grader.judging.first_difference import describe_first_difference, first_wrong_update
from grader.judging.judge import Verdict
from grader.judging.recipe import recover_recipe
from grader.judging.reference import Reference
from grader.observe.play import Env
from grader.observe.trace import Trace
from grader.observe.wording import RETURN_TYPES

_MAX_TYPE_CHARACTERS = 60
"""Maximum number of characters shown of a type's name, which in a forged trace may be any text."""


@dataclass(frozen=True)
class Evidence:
    """What shows that a program is wrong; empty if the program passed, or if it could not be loaded."""

    first_difference: FirstDifference | None = None
    """The first difference in the scenario to show (`gather_evidence`)."""
    timelines: Timelines = field(default_factory=Timelines)
    """The learner's and the solution's events in one call."""
    order_scenario: str = ""
    """Title of the scenario of the timelines; empty if it is that of the first difference."""
    recipe: Recipe | None = None
    """The mixture of gradients in the first wrong update; None if it cannot be computed or is right."""
    suspect_line: int | None = None
    """Line of the program that caused the learner's first event without a partner on the solution's timeline.

    Events that are certainly harmless do not count (`_harmless_clears`). None if there is no such event.
    """


def gather_evidence(
    explanation: Explanation, trace: Trace, verdict: Verdict, reference: Reference
) -> Evidence:
    """Return the evidence from the scenario to show (`_scenario_to_show`).

    If its timelines are equal, they come from the first other wrong scenario whose timelines differ. If it has no
    recipe, this comes from the first other wrong scenario that has one. If the trace lacks the run of the scenario to
    show, the evidence is only the first difference.

    Args:
        explanation: what explains the submission.
        trace: the submission's trace.
        verdict: which checks it passes, and where each scenario first differs.
        reference: the runs with which it was compared.
    """
    if not verdict.differences:
        return Evidence()
    driver = reference.exercise.driver
    shown = _scenario_to_show(explanation, verdict, reference)
    run = trace.runs.get(shown)
    first = describe_first_difference(
        driver[shown],
        verdict.differences[shown],
        run,
        reference.solution_run(shown),
        type_instead_of_list=_type_instead_of_list(trace, reference),
    )
    if run is None:
        return Evidence(first)
    wrong = tuple(dict.fromkeys((shown, *verdict.differences)))  # `shown` first, and only once
    order = _differing_order(wrong, trace, verdict, reference)
    return Evidence(
        first,
        order.timelines,
        order_scenario="" if order.scenario == shown else driver[order.scenario].title,
        recipe=_first_recipe(wrong, trace, verdict, reference),
        suspect_line=_first_suspect_line(order.timelines.yours, _harmless_clears(trace, verdict, reference)),
    )


def clearest_difference(
    mistake: ExplainedMistake, explanation: Explanation, trace: Trace, verdict: Verdict, reference: Reference
) -> FirstDifference | None:
    """Return the first difference in the scenario that shows a mistake most clearly; None if none shows it.

    A mistake that was seen in single arrays is shown only where one of these differs first.

    Args:
        mistake: one of the explanation's mistakes.
        explanation: what explains the submission.
        trace: the submission's trace.
        verdict: where each scenario first differs.
        reference: the runs with which it was compared.
    """
    others = [other for other in explanation.mistakes if other is not mistake]
    showing = [
        name
        for name, difference in verdict.differences.items()
        if name in mistake.scenarios and (not mistake.only_arrays or difference.name in mistake.only_arrays)
    ]
    shown = _clearest_scenario(showing, others, verdict, reference)
    if shown is None:
        return None
    return describe_first_difference(
        reference.exercise.driver[shown],
        verdict.differences[shown],
        trace.runs.get(shown),
        reference.solution_run(shown),
        type_instead_of_list=_type_instead_of_list(trace, reference),
    )


def _clearest_scenario(
    scenarios: Iterable[str], others: Sequence[ExplainedMistake], verdict: Verdict, reference: Reference
) -> str | None:
    """Return the first of these scenarios where the fewest other mistakes reach the difference; None without any.

    Drivers begin with the plainest scenario. So one comes before a later, special one even if another mistake changes
    it, too, as long as that mistake does so later than what is shown.
    """

    def count_others(name: str) -> int:
        return sum(
            _reaches_difference(mistake, name, verdict.differences[name], reference) for mistake in others
        )

    return min(scenarios, key=count_others, default=None)


def _reaches_difference(
    mistake: ExplainedMistake, scenario: str, difference: Difference, reference: Reference
) -> bool:
    """Return True if a mistake, made alone, may change what is shown of a scenario: the learner's first difference.

    Only a row of the same array that comes later is surely not shown.
    """
    if scenario not in mistake.scenarios:
        return False
    if difference.kind != "array":
        return True
    alone = find_difference(
        reference.complete_run(reference.sources[mistake.variant.name], scenario),
        reference.solution_run(scenario),
        reference.exercise.driver[scenario].atol,
    )
    if alone is None or (alone.kind, alone.name) != ("array", difference.name):
        return True
    return alone.index[0] <= difference.index[0]


def _scenario_to_show(explanation: Explanation, verdict: Verdict, reference: Reference) -> str:
    """Return the name of the scenario from which the evidence is to come, one of those that went wrong.

    1. If scenarios stay unexplained: the first of them, because the feedback has nothing else to say about it.
    2. If no mistake is named: the first one that went wrong.
    3. Else the one where the first mistake makes the difference together with the fewest others (`_clearest_scenario`).
       Feedback points at the line of the first mistake, so the evidence should show the effect of this mistake alone.
    """
    if explanation.unexplained:
        return explanation.unexplained[0]
    if not explanation.mistakes:
        return next(iter(verdict.differences))
    first, *others = explanation.mistakes
    changed_by_first = [name for name in verdict.differences if name in first.scenarios]
    clearest = _clearest_scenario(changed_by_first or verdict.differences, others, verdict, reference)
    assert clearest is not None  # something differs
    return clearest


def _type_instead_of_list(trace: Trace, reference: Reference) -> str:
    """Return the name of the type that the learner's function returns where the solution's returns a list.

    Empty if the learner's returns a list, too, or if no scenario of the trace tells. The first one that does decides.
    """
    for scenario in reference.exercise.driver.scenarios:
        run = trace.runs.get(scenario.name)
        expected = reference.solution_run(scenario.name).facts.get(RETURN_TYPES)
        got = None if run is None else run.facts.get(RETURN_TYPES)
        if isinstance(expected, list) and expected[:1] == ["list"] and isinstance(got, list) and got:
            type_name = str(got[0])
            return "" if type_name == "list" else type_name[:_MAX_TYPE_CHARACTERS]
    return ""


class _Order(NamedTuple):
    """The order of events in one scenario."""

    scenario: str
    """Name of the scenario."""
    timelines: Timelines


def _differing_order(
    scenarios: Sequence[str], trace: Trace, verdict: Verdict, reference: Reference
) -> _Order:
    """Return the order of events in the first of these scenarios whose timelines differ.

    Scenarios without a run are passed over, and so are those in which an exception came before the call that would be
    drawn. If the timelines differ in none of the others, return the order in the first of these; if there are no
    others, empty timelines.
    """
    equal: _Order | None = None
    for name in scenarios:
        run = trace.runs.get(name)
        if run is None:
            continue
        solution = reference.solution_run(name)
        update = first_wrong_update(verdict.differences[name], run, solution)
        order = _Order(name, timelines(run, solution, update))
        if run.failure is not None and run.events and not order.timelines.yours:
            continue
        if order.timelines.differ:
            return order
        equal = equal or order
    return equal or _Order(scenarios[0], Timelines())


def _harmless_clears(trace: Trace, verdict: Verdict, reference: Reference) -> set[int | None]:
    """Return the learner's lines that clear gradients where the solution does not, in scenarios with right updates.

    That the updates are right shows that such a line does no harm. It would not show this for events of other kinds: an
    additional update without gradients changes nothing with SGD, but it does with AdamW.
    """
    right_runs = [
        (name, run)
        for name, run in trace.runs.items()
        if name not in verdict.differences and "theta" in run.arrays
    ]
    return {
        event.line
        for name, run in right_runs
        for event in unpaired_events(run, reference.solution_run(name))
        if event.kind == "zero_grad"
    }


def _first_suspect_line(yours: Iterable[Moment], harmless_clears: Container[int | None]) -> int | None:
    """Return the line of the learner's first event without a partner that is not harmless; None if there is none."""
    for moment in yours:
        is_harmless = moment.kind == "zero_grad" and moment.line in harmless_clears
        if moment.differs and not is_harmless and moment.line is not None:
            return moment.line
    return None


def _first_recipe(
    scenarios: Sequence[str], trace: Trace, verdict: Verdict, reference: Reference
) -> Recipe | None:
    """Return the recipe of the first wrong update in the first of these scenarios that has a recipe; None if none has.

    Unless this is the first of the scenarios, the recipe holds its title.
    """
    driver = reference.exercise.driver
    for name in scenarios:
        run, solution = trace.runs.get(name), reference.solution_run(name)
        update = first_wrong_update(verdict.differences[name], run, solution)
        if run is None or update is None:
            continue
        env = Env(reference.seed, torch.device(reference.device), name)
        recipe = recover_recipe(driver[name], run, solution, update, env)
        if recipe is not None:
            return recipe if name == scenarios[0] else replace(recipe, scenario=driver[name].title)
    return None
