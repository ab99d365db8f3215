"""Verdict and trace -> Diagnosis: the known mistakes that behave the same, what they leave open, and the evidence."""

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

_TELLING_STATES = 2  # the start and one update: one number for each parameter, which two mistakes may share


def diagnose(
    exercise: Exercise, trace: Trace, verdict: Verdict, reference: Reference, source: str = ""
) -> Diagnosis:
    """Why a submission that does not pass is wrong; `source` is its program, in which each mistake gets its line.

    Mistakes that behave the same are told apart by the order of events where that helps, and otherwise named together.
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
    like = None if near is None else _joined([near], (), None)
    return Diagnosis(named, first, yours, right, recipe, rest, like, pasted=pasted)


def _timelines(
    trace: Trace, verdict: Verdict, reference: Reference, told: str
) -> tuple[tuple[Moment, ...], tuple[Moment, ...]]:
    """Both orders of events in the scenario that is told, or where they are alike there, in the first one where not."""
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
    """The recipe of the first wrong update, in the first scenario that has one."""
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
    """The well-known wrong program that behaves the same in every scenario."""

    def target(name: str) -> Run:
        return trace.runs[name] if name in verdict.differences else reference.solution(name)

    scenarios = [s.name for s in exercise.driver.scenarios if s.name in trace.runs]
    for copy in exercise.copies:
        if all(reference.agrees(copy.program, name, target(name)) for name in scenarios):
            return Pasted(copy.id, copy.title, copy.explain, copy.hint)
    return None


def _plausible(explanation: Explanation, trace: Trace, reference: Reference) -> list[tuple[Way, ...]]:
    """The sets that went about it most like the submission.

    A program that ran nothing at all has not made the mistakes of one that ran something.
    """
    sets = list(explanation.sets)
    if not any(run.events for run in trace.runs.values()):
        sets = [s for s in sets if not any(_run(s, reference, scenario).events for scenario in trace.runs)]
    if len({_ids(s) for s in sets}) > 1:
        sets = list(dict.fromkeys(other for s in sets for other in (s, *_alike(s, reference))))
    first = reference.exercise.driver.scenarios[0].name
    for name in trace.runs:
        if len({_ids(s) for s in sets}) < 2:
            break
        if name == first or name in explanation.explained:
            sets = closest(sets, trace.runs[name], partial(_run, reference=reference, scenario=name))
    return sets


def _alike(together: tuple[Way, ...], reference: Reference) -> Iterator[tuple[Way, ...]]:
    """The set with one of its mistakes made in another way that behaves alike."""
    for number, way in enumerate(together):
        for other in _same_mistake(way, reference):
            yield (*together[:number], other, *together[number + 1 :])


def _same_mistake(way: Way, reference: Reference) -> Iterator[Way]:
    """The other ways to make the same mistake that behave alike."""
    names = [scenario.name for scenario in reference.exercise.driver.scenarios]
    for other in reference.ways:
        same = other != way and other.mistake.id == way.mistake.id
        if same and all(reference.behaviour(other, n) == reference.behaviour(way, n) for n in names):
            yield other


def _run(together: tuple[Way, ...], reference: Reference, scenario: str) -> Run:
    return reference.run(_source(together, reference), scenario)


def _source(together: tuple[Way, ...], reference: Reference) -> str:
    return reference.program_of_all(together) or ""


def _ids(together: tuple[Way, ...]) -> frozenset[str]:
    return frozenset(way.mistake.id for way in together)


def _named(
    sets: list[tuple[Way, ...]], explanation: Explanation, trace: Trace, reference: Reference, source: str
) -> tuple[Named, ...]:
    """One set. Each of its mistakes names its twins too: those that stand in its place in another set."""
    if not sets:
        return ()
    chosen = sets[0]
    named = []
    for way in chosen:
        partners = _ids(chosen) - {way.mistake.id}
        twins = {m.mistake.id for s in sets for m in s if partners == _ids(s) - {m.mistake.id}}
        mistakes = [m for m in reference.exercise.mistakes if m.id in twins or m.id == way.mistake.id]
        if explanation.unexplained and len(mistakes) > 1:  # what would tell them apart stays unexplained
            continue
        shows = [s for s in explanation.explained if reference.behaviour(way, s) != 0]
        if not _well_founded(way, shows, explanation, trace, reference):
            continue
        titles = tuple(reference.exercise.driver[s].title for s in shows)
        runs = [(trace.runs[s], reference.solution(s)) for s in shows]
        raising = None if way.mistake.only_near else _raising_place(way, shows, trace, reference)
        place = raising or _place(way, chosen, runs, reference, source)
        named.append(_joined(mistakes, titles, place))
    return tuple(named)


def _well_founded(
    way: Way, shows: Sequence[str], explanation: Explanation, trace: Trace, reference: Reference
) -> bool:
    """Whether what is explained is enough to name this mistake although other scenarios stay unexplained.

    It is where it explains a trajectory of several updates: numbers that fit nine digits do not fit by chance. What
    fits in one number or a fact may be the work of what stays unexplained, unless that shows in other fields.
    """
    elsewhere = [s for s in explanation.unexplained if s in trace.runs]
    spoiled = {field for s in elsewhere for field in _fields(s, trace, reference)}
    acting = [s for s in elsewhere if reference.behaviour(way, s) != 0]
    if len(shows) > len(acting) and any(_fields(s, trace, reference).isdisjoint(spoiled) for s in shows):
        return True
    for scenario in shows:
        theta, right = (
            run.arrays.get("theta") for run in (trace.runs[scenario], reference.solution(scenario))
        )
        if theta is None or right is None or len(theta) <= _TELLING_STATES:
            continue
        if theta.shape != right.shape or not np.allclose(theta, right, rtol=0.0, atol=1e-6, equal_nan=True):
            return True
    return False


def _fields(scenario: str, trace: Trace, reference: Reference) -> set[str]:
    """What differs from the solution in a scenario: names of arrays and facts."""
    atol = reference.exercise.driver[scenario].atol
    return differing_fields(trace.runs[scenario], reference.solution(scenario), atol)


def _raising_place(way: Way, shows: Sequence[str], trace: Trace, reference: Reference) -> Place | None:
    """Where the learner's program raises, if the mistake itself is what raises there.

    It is where the changed line raises in the mistake's program too, or where something is None that may be None.
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
    """The line that resembles what the mistake changes; else that of the event that it is about."""
    same = [way, *_same_mistake(way, reference)]
    places = [_text_place(one, chosen, reference, source) for one in same]
    found = [place for place in places if place is not None]
    if found:  # of the ways to make the mistake, the learner's is the one that reads most like it
        return max(found, key=lambda place: place.likeness)
    kind = way.mistake.at
    extra = (event for run, solution in runs for event in differing(run, solution))
    every = (event for run, _ in runs for event in run.events)
    for event in (*extra, *every):
        if event.kind == kind and event.line is not None:
            return Place(event.line)
    return None


def _text_place(way: Way, chosen: tuple[Way, ...], reference: Reference, source: str) -> Place | None:
    """The same from the text alone, beside the other mistakes that the learner makes too."""
    exercise, mistake = reference.exercise, way.mistake
    solution, wrong = exercise_source(exercise), reference.sources[way.name]
    others = tuple(other for other in chosen if other.mistake.id != mistake.id)
    if others and not mistake.near:  # that line is the solution's, and another mistake may have changed it
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


def _joined(mistakes: list[Mistake], scenarios: tuple[str, ...], place: Place | None) -> Named:
    return Named(
        ids=tuple(m.id for m in mistakes),
        titles=tuple(m.title for m in mistakes),
        explain=mistakes[0].explain,
        hint=mistakes[0].hint,
        scenarios=scenarios,
        line=place.line if place else None,
        before=place.before if place else False,
    )
