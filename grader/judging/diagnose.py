"""Turn a verdict and a trace into a Diagnosis: mistakes with their lines, what stays open, and the evidence.

`explain` finds sets of known mistakes that behave as the submission does. Among equally good sets, those that also
work in the same way (`tie_break`) are kept. One set is reported; a mistake that another set has in its place behaves
alike, and the two are named together (`a|b`). Where scenarios stay unexplained, a mistake is named only if the
explained ones are evidence enough (`_evidence_suffices`). For each named mistake `locate` finds the line. The first
difference, both timelines of events and the recipe of the first wrong update are added as evidence, and where no
mistake can be named, the nearest known one, reported as near only.

Example: `explain` returns {no-division, drops-leftover, no-accum-check} for a first try at `accumulate`, and leaves
nothing open. The diagnosis names three mistakes, each with its line and the titles of the scenarios in which it
shows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from grader.course.course import Exercise, Mistake
from grader.course.feedback import Diagnosis, Moment, Named, Pasted, Recipe
from grader.judging.edits import Way, exercise_source
from grader.judging.event_orders import differing, timelines
from grader.judging.explain import Explanation, explain
from grader.judging.first_difference import describe_first_difference, update_of
from grader.judging.judge import Verdict, differing_fields, has_same_cause
from grader.judging.locate import Place, place_of
from grader.judging.nearest_mistake import nearest
from grader.judging.recipe import recover_recipe
from grader.judging.reference import Reference
from grader.judging.tie_break import closest
from grader.observe.play import Env
from grader.observe.trace import Run, Trace

_TOO_FEW_STATES = 2
"""Parameter states (the start and one update) that are too few evidence: two mistakes may share those numbers."""


def diagnose(
    exercise: Exercise, trace: Trace, verdict: Verdict, reference: Reference, source: str = ""
) -> Diagnosis:
    """Return why a submission that did not pass is wrong; an empty Diagnosis if it passed or nothing could be compared.

    Args:
        exercise: the exercise that was judged.
        trace: the submission's trace.
        verdict: its verdict.
        reference: what it was judged by.
        source: the submission's program, in which each mistake gets its line; empty: no lines are found in the text.
    """
    if verdict.status == "passed" or not verdict.differences:
        return Diagnosis()
    explanation = explain(reference, trace.runs, list(verdict.differences))
    sets = _plausible(explanation, trace, reference)
    named = _named(sets, explanation, trace, reference, source)
    unexplained = explanation.unexplained if named else ()
    pasted = _pasted(exercise, trace, verdict, reference)
    near = None if named or pasted else nearest(reference, trace.runs, verdict.differences)
    told = next(iter(unexplained or verdict.differences))
    scenario, found = exercise.driver[told], verdict.differences[told]
    run, solution = trace.runs.get(told), reference.solution(told)
    first = describe_first_difference(scenario, found, run, solution)
    rest = tuple(exercise.driver[name].title for name in unexplained)
    if run is None:
        return Diagnosis(named, first, unexplained=rest, pasted=pasted)
    yours, right = _timelines(trace, verdict, reference, told)
    recipe = _recipe(exercise, trace, verdict, reference, told)
    like = None if near is None else _named_entry([near], (), None)
    return Diagnosis(named, first, yours, right, recipe, rest, like, pasted=pasted)


def _timelines(
    trace: Trace, verdict: Verdict, reference: Reference, told: str
) -> tuple[tuple[Moment, ...], tuple[Moment, ...]]:
    """Return the learner's and the solution's timeline for the reported scenario `told`.

    If these do not differ, return those of the first scenario in which they do. Empty if no scenario has a run.
    """
    first = None
    for name in (told, *verdict.differences):
        run = trace.runs.get(name)
        if run is None:
            continue
        solution = reference.solution(name)
        both = timelines(run, solution, update_of(verdict.differences[name], run, solution))
        if any(moment.differs for side in both for moment in side):
            return both
        first = first or both
    return first or ((), ())


def _recipe(
    exercise: Exercise, trace: Trace, verdict: Verdict, reference: Reference, told: str
) -> Recipe | None:
    """Return the recipe of the first wrong update, in the first scenario (`told` before others) that has one."""
    for name in (told, *verdict.differences):
        run, solution = trace.runs.get(name), reference.solution(name)
        update = update_of(verdict.differences[name], run, solution)
        if run is None or update is None:
            continue
        env = Env(reference.seed, torch.device(reference.device), name)
        recipe = recover_recipe(exercise.driver[name], run, solution, update, env)
        if recipe is not None:
            return recipe if name == told else replace(recipe, scenario=exercise.driver[name].title)
    return None


def _pasted(exercise: Exercise, trace: Trace, verdict: Verdict, reference: Reference) -> Pasted | None:
    """Return the well-known wrong program (`Copy`) that behaves as the submission in every scenario; None if none."""

    def target(name: str) -> Run:
        return trace.runs[name] if name in verdict.differences else reference.solution(name)

    scenarios = [s.name for s in exercise.driver.scenarios if s.name in trace.runs]
    for copy in exercise.copies:
        if all(reference.agrees(copy.program, name, target(name)) for name in scenarios):
            return Pasted(copy.id, copy.title, copy.explain, copy.hint)
    return None


def _plausible(explanation: Explanation, trace: Trace, reference: Reference) -> list[tuple[Way, ...]]:
    """Return the sets that work most like the submission, by the order and kind of their events.

    A program that ran nothing at all has not made the mistakes of one that ran something.
    """
    sets = list(explanation.sets)
    if not any(run.events for run in trace.runs.values()):
        sets = [s for s in sets if not any(_run(s, reference, scenario).events for scenario in trace.runs)]
    if len({_ids(s) for s in sets}) > 1:
        sets = list(dict.fromkeys(other for s in sets for other in (s, *_same_behaviour_sets(s, reference))))
    first = reference.exercise.driver.scenarios[0].name
    for name in trace.runs:
        if len({_ids(s) for s in sets}) < 2:
            break
        if name == first or name in explanation.explained:
            sets = closest(sets, trace.runs[name], partial(_run, reference=reference, scenario=name))
    return sets


def _same_behaviour_sets(together: tuple[Way, ...], reference: Reference) -> Iterator[tuple[Way, ...]]:
    """Yield the set with one of its mistakes made in another way that behaves alike in every scenario."""
    for number, way in enumerate(together):
        for other in _equivalent_ways(way, reference):
            yield (*together[:number], other, *together[number + 1 :])


def _equivalent_ways(way: Way, reference: Reference) -> Iterator[Way]:
    """Yield the other ways to make the same mistake that behave alike in every scenario."""
    names = [scenario.name for scenario in reference.exercise.driver.scenarios]
    for other in reference.ways:
        same = other != way and other.mistake.id == way.mistake.id
        if same and all(reference.behaviour(other, n) == reference.behaviour(way, n) for n in names):
            yield other


def _run(together: tuple[Way, ...], reference: Reference, scenario: str) -> Run:
    """Return the run of the program that makes these mistakes."""
    return reference.run(_source(together, reference), scenario)


def _source(together: tuple[Way, ...], reference: Reference) -> str:
    """Return the program that makes these mistakes; empty, which stands for the solution, if there is none."""
    return reference.program_of_all(together) or ""


def _ids(together: tuple[Way, ...]) -> frozenset[str]:
    """Return the ids of the mistakes in a set."""
    return frozenset(way.mistake.id for way in together)


def _named(
    sets: list[tuple[Way, ...]], explanation: Explanation, trace: Trace, reference: Reference, source: str
) -> tuple[Named, ...]:
    """Return the mistakes of the first set, each together with its twins.

    A twin is a mistake that stands in its place in another set with otherwise the same mistakes. Mistakes without
    enough evidence are left out.
    """
    if not sets:
        return ()
    chosen = sets[0]
    named = []
    for way in chosen:
        partners = _ids(chosen) - {way.mistake.id}
        twins = {m.mistake.id for s in sets for m in s if partners == _ids(s) - {m.mistake.id}}
        mistakes = [m for m in reference.exercise.mistakes if m.id in twins or m.id == way.mistake.id]
        if explanation.unexplained and len(mistakes) > 1:  # only what stays unexplained would tell them apart
            continue
        shows = [s for s in explanation.explained if reference.behaviour(way, s) != 0]
        if not _evidence_suffices(way, shows, explanation, trace, reference):
            continue
        titles = tuple(reference.exercise.driver[s].title for s in shows)
        runs = [(trace.runs[s], reference.solution(s)) for s in shows]
        raising = None if way.mistake.only_near else _raising_place(way, shows, trace, reference)
        place = raising or _place(way, chosen, runs, reference, source)
        named.append(_named_entry(mistakes, titles, place))
    return tuple(named)


def _evidence_suffices(
    way: Way, shows: Sequence[str], explanation: Explanation, trace: Trace, reference: Reference
) -> bool:
    """Return True if the explained scenarios are enough to name this mistake although others stay unexplained.

    They are if one of them is a trajectory of several updates that differs from the solution's: numbers that fit to
    nine digits do not fit by chance. A fit in a single number or fact may come from whatever stays unexplained,
    unless that spoils other fields only and the mistake shows in more explained scenarios than unexplained ones.

    Args:
        way: the mistake.
        shows: names of the explained scenarios that it changes.
        explanation: which scenarios are explained.
        trace: the submission's trace.
        reference: what it was judged by.
    """
    elsewhere = [s for s in explanation.unexplained if s in trace.runs]
    spoiled = {field for s in elsewhere for field in _fields(s, trace, reference)}
    acting = [s for s in elsewhere if reference.behaviour(way, s) != 0]
    # The mistake shows mostly where it is explained, and somewhere in fields that what is unexplained leaves alone.
    if len(shows) > len(acting) and any(_fields(s, trace, reference).isdisjoint(spoiled) for s in shows):
        return True
    for scenario in shows:
        theta, right = (
            run.arrays.get("theta") for run in (trace.runs[scenario], reference.solution(scenario))
        )
        if theta is None or right is None or len(theta) <= _TOO_FEW_STATES:
            continue
        if theta.shape != right.shape or not np.allclose(theta, right, rtol=0.0, atol=1e-6, equal_nan=True):
            return True
    return False


def _fields(scenario: str, trace: Trace, reference: Reference) -> set[str]:
    """Return the names of the arrays and facts in which the learner's run of a scenario differs from the solution's."""
    atol = reference.exercise.driver[scenario].atol
    return differing_fields(trace.runs[scenario], reference.solution(scenario), atol)


def _raising_place(way: Way, shows: Sequence[str], trace: Trace, reference: Reference) -> Place | None:
    """Return the place where the learner's program raises, if the mistake itself is the cause; None otherwise.

    The mistake's program must raise for the same reason, and either in a line that the mistake changed or because of
    a None, which may come from an earlier line. What the learner's own `raise` raised does not count.
    """
    wrong = reference.sources[way.name]
    unchanged = exercise_source(reference.exercise).splitlines()
    for scenario in shows:
        theirs = trace.runs[scenario].failure
        if theirs is None or theirs.line is None or theirs.own:
            continue
        failure = reference.known(wrong, scenario).failure
        if failure is None or failure.line is None or not has_same_cause(theirs, failure):
            continue
        if "NoneType" in theirs.message or wrong.splitlines()[failure.line - 1] not in unchanged:
            return Place(theirs.line)
    return None


def _place(
    way: Way, chosen: tuple[Way, ...], runs: Sequence[tuple[Run, Run]], reference: Reference, source: str
) -> Place | None:
    """Return the line that resembles what the mistake changes; else the line of the event that it is about."""
    same = [way, *_equivalent_ways(way, reference)]
    places = [_text_place(one, chosen, reference, source) for one in same]
    found = [place for place in places if place is not None]
    if found:  # take the way to make the mistake that resembles the learner's text most
        return max(found, key=lambda place: place.likeness)
    kind = way.mistake.at
    extra = (event for run, solution in runs for event in differing(run, solution))
    every = (event for run, _ in runs for event in run.events)
    for event in (*extra, *every):
        if event.kind == kind and event.line is not None:
            return Place(event.line)
    return None


def _text_place(way: Way, chosen: tuple[Way, ...], reference: Reference, source: str) -> Place | None:
    """Return the place found by comparing texts; None if there is none.

    The mistake is compared in the presence of the other mistakes that the learner makes, if their edits combine.
    """
    exercise, mistake = reference.exercise, way.mistake
    solution, wrong = exercise_source(exercise), reference.sources[way.name]
    others = tuple(other for other in chosen if other.mistake.id != mistake.id)
    if others and not mistake.near:  # `near` is a line of the solution, which another mistake may change
        together = [w for w in reference.ways if w == way or w in others]
        less, more = _source(others, reference), _source(tuple(together), reference)
        if less and more:
            solution, wrong = less, more
    return place_of(
        solution,
        wrong,
        source,
        exercise.name,
        at=mistake.at,
        near=mistake.near,
        only_near=mistake.only_near,
    )


def _named_entry(mistakes: list[Mistake], scenarios: tuple[str, ...], place: Place | None) -> Named:
    """Return the mistakes as one entry of the diagnosis; the first one's explanation and hint stand for all."""
    return Named(
        ids=tuple(m.id for m in mistakes),
        titles=tuple(m.title for m in mistakes),
        explain=mistakes[0].explain,
        hint=mistakes[0].hint,
        scenarios=scenarios,
        line=place.line if place else None,
        before=place.before if place else False,
    )
