"""Add to a feedback what only plays of edited programs can tell: state kept between calls, or the place of a repair.

It is used after `assess`, for feedback that names no mistake or leaves something unexplained (`wants_repair`).
"""

from collections.abc import Mapping
from dataclasses import replace

from grader.course.course import Exercise
from grader.course.feedback import Diagnosis, Feedback, Remembered, RepairStep
from grader.judging.judge import judge
from grader.judging.messages import unnamed_message
from grader.judging.origin import Origin
from grader.judging.reference import Reference
from grader.judging.repair.kept_state import differing_when_reloaded, state_line
from grader.judging.repair.search import Runner, search
from grader.judging.repair.small_edits import SmallEdit
from grader.observe.trace import Run, Trace
from grader.sandbox.spent import AttemptsSpent

_PLAYS = 160
"""Usual budget of plays, at 2 to 8 ms each: about a second."""
_BUDGET_DIVISOR_IF_NAMED = 2
"""Divisor of the budget if mistakes are named already or an exception tells where to look."""
_MANY_EVENTS = 330
"""Events of all scenarios together above which plays are slow and the budget shrinks in proportion."""
_FEW_EVENTS = 60
"""Events of all scenarios together up to which plays are quick and the budget is `_QUICK_PLAYS`."""
_QUICK_PLAYS = 300
"""Budget of plays for quick exercises."""


def wants_repair(feedback: Feedback) -> bool:
    """Return True if the code ran and is wrong, and known mistakes leave something to be explained."""
    diagnosis = feedback.diagnosis
    explained = diagnosis.mistakes and not diagnosis.unexplained
    return (
        feedback.begun and feedback.status in ("failed", "error") and not explained and not diagnosis.pasted
    )


def with_repair(
    feedback: Feedback,
    exercise: Exercise,
    runs: Mapping[str, Run],
    reference: Reference,
    origin: Origin,
    runner: Runner,
) -> Feedback:
    """Return the feedback with what the program remembers from earlier calls, or else with a repair and its place.

    The feedback is returned unchanged if neither is found. A repair of only part of the failing scenarios (at least
    half) is told only if nothing else is: no known mistake, no exception.

    Args:
        feedback: feedback for which `wants_repair` is true.
        exercise: the exercise that was judged.
        runs: the learner's runs.
        reference: what they were judged by.
        origin: the learner's code.
        runner: plays edited versions of it where they can do no harm.
    """
    if not runs:  # the program does not even load
        return feedback
    remembering = _with_remembered_state(feedback, exercise, runs, reference, origin, runner)
    if remembering is not None:
        return remembering
    silent = not feedback.diagnosis.mistakes and feedback.error is None
    budget = _budget(exercise, reference) // (1 if silent else _BUDGET_DIVISOR_IF_NAMED)
    found = search(exercise, origin.source, runs, reference.solution, runner, budget=budget)
    if found is None or not (found.whole or (silent and len(found.left) <= len(found.mended))):
        return feedback
    steps = tuple(_step(edit, origin) for edit in found.edits)
    leaves = tuple(exercise.driver[name].title for name in found.left)
    told = replace(feedback, diagnosis=replace(feedback.diagnosis, repair=steps, repair_leaves=leaves))
    if feedback.diagnosis.mistakes and len(found.edits) == 1:
        # One small edit repairs everything, so mistakes that left scenarios unexplained were named wrongly.
        told = replace(told, diagnosis=replace(told.diagnosis, mistakes=(), unexplained=()))
        told = replace(told, message=unnamed_message(told))
    elif not silent:
        return told
    if feedback.error is not None:  # the line to show stays the one that raised
        return told
    line = found.edits[0].line
    return replace(told, line=steps[0].line, cell=steps[0].cell, source_line=origin.text(line))


def _with_remembered_state(
    feedback: Feedback,
    exercise: Exercise,
    runs: Mapping[str, Run],
    reference: Reference,
    origin: Origin,
    runner: Runner,
) -> Feedback | None:
    """Return the feedback with what the program remembers in place of named mistakes.

    None if it remembers nothing, or if nothing more can be played to find that out.
    """
    line = state_line(origin.source, exercise.name)
    if line is None:
        return None
    wrong = judge(exercise, Trace(dict(runs)), reference.solution).differences
    failing = [name for name in wrong if name in runs]
    try:
        fresh = differing_when_reloaded(exercise, origin.source, runs, failing, runner)
    except AttemptsSpent:
        return None
    if not fresh:
        return None
    place = origin.place(line)
    remembered = Remembered(
        tuple(exercise.driver[name].title for name in fresh),
        place.line if place else None,
        place.cell if place else None,
    )
    # Remembered state also spoils a second call within a scenario, as other mistakes would: no name is certain.
    diagnosis = Diagnosis(first_difference=feedback.diagnosis.first_difference, remembered=remembered)
    return replace(
        feedback,
        diagnosis=diagnosis,
        line=remembered.line,
        cell=remembered.cell,
        source_line=origin.text(line),
    )


def _budget(exercise: Exercise, reference: Reference) -> int:
    """Return the maximum number of plays, at least 40, by how many events the solution's runs have.

    Scenarios about memory are left out: they come last, so that an edit which mends nothing else never gets there.
    """
    played = [s.name for s in exercise.driver.scenarios if s.name != "memory"]
    events = sum(len(reference.solution(name).events) for name in played)
    events = round(events * exercise.driver.cost)
    if events <= _FEW_EVENTS:
        return _QUICK_PLAYS
    return _PLAYS if events <= _MANY_EVENTS else max(40, _PLAYS * _MANY_EVENTS // events)


def _step(edit: SmallEdit, origin: Origin) -> RepairStep:
    """Return an edit as a step of the repair, with its line as the learner counts it."""
    place = origin.place(edit.line)
    return RepairStep(
        kind=edit.phrase,
        where=edit.where,
        line=place.line if place else None,
        cell=place.cell if place else None,
        old=edit.old,
        new=edit.new,
    )
