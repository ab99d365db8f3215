"""Feedback that names no mistake, or not all of them -> the same with what only plays of the learner's program tell:
whether it remembers earlier calls, and the place that a repair shows."""

from collections.abc import Mapping
from dataclasses import replace

from grader.course.course import Exercise
from grader.course.feedback import Diagnosis, Feedback, Remembered, RepairStep
from grader.judging.assess import Origin, unnamed_message
from grader.judging.judge import judge
from grader.judging.reference import Reference
from grader.judging.repair.kept_state import keeper_line, otherwise_when_anew
from grader.judging.repair.search import Runner, search
from grader.judging.repair.small_edits import SmallEdit
from grader.observe.trace import Run, Trace

_PLAYS = 160
"""At 2 to 8 ms each: about a second."""
_SHARE_BESIDE_NAMES = 2
"""Where mistakes have names already, or an exception tells where to look, half as many are enough."""
_LONG_RUN = 330
"""Events of all scenarios together, from which on plays are slow and the search gets a share of them."""
_SHORT_RUN = 60
"""Events up to which plays are quick, and the search gets more of them."""
_QUICK_PLAYS = 300


def wants_repair(feedback: Feedback) -> bool:
    """Whether known mistakes leave something to be explained."""
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
    """Say what the program remembers from earlier calls; else search for a repair, and point at its places.

    The feedback stays as it was where neither is found.

    A repair of half of what went wrong is told where nothing else is: no known mistake, no exception.

    Args:
        feedback: for which `wants_repair` holds.
        exercise: whose function was judged.
        runs: the learner's.
        reference: what they were judged by.
        origin: the learner's program.
        runner: plays variants of it where they can do no harm.
    """
    if not runs:  # it does not even load
        return feedback
    remembering = _remembering(feedback, exercise, runs, reference, origin, runner)
    if remembering is not None:
        return remembering
    silent = not feedback.diagnosis.mistakes and feedback.error is None
    budget = _budget(exercise, reference) // (1 if silent else _SHARE_BESIDE_NAMES)
    found = search(exercise, origin.source, runs, reference.solution, runner, budget=budget)
    if found is None or not (found.whole or (silent and len(found.left) <= len(found.mended))):
        return feedback
    steps = tuple(_step(edit, origin) for edit in found.edits)
    leaves = tuple(exercise.driver[name].title for name in found.left)
    told = replace(feedback, diagnosis=replace(feedback.diagnosis, repair=steps, repair_leaves=leaves))
    if feedback.diagnosis.mistakes and len(found.edits) == 1:
        # One small edit mends everything: names that leave something open name what it is not.
        told = replace(told, diagnosis=replace(told.diagnosis, mistakes=(), unexplained=()))
        told = replace(told, message=unnamed_message(told))
    elif not silent:
        return told
    if feedback.error is not None:  # where it raised is the line to show
        return told
    line = found.edits[0].line
    return replace(told, line=steps[0].line, cell=steps[0].cell, source_line=origin.text(line))


def _remembering(
    feedback: Feedback,
    exercise: Exercise,
    runs: Mapping[str, Run],
    reference: Reference,
    origin: Origin,
    runner: Runner,
) -> Feedback | None:
    """The feedback with what the program remembers instead of names; None where it remembers nothing."""
    line = keeper_line(origin.source, exercise.name)
    if line is None:
        return None
    wrong = judge(exercise, Trace(dict(runs)), reference.solution).differences
    failing = [name for name in wrong if name in runs]
    fresh = otherwise_when_anew(exercise, origin.source, runs, failing, runner)
    if not fresh:
        return None
    place = origin.place(line)
    remembered = Remembered(
        tuple(exercise.driver[name].title for name in fresh),
        place.line if place else None,
        place.cell if place else None,
    )
    # What is remembered spoils a second call within a scenario too, as other mistakes would: no name is sure.
    diagnosis = Diagnosis(first_difference=feedback.diagnosis.first_difference, remembered=remembered)
    return replace(
        feedback,
        diagnosis=diagnosis,
        line=remembered.line,
        cell=remembered.cell,
        source_line=origin.text(line),
    )


def _budget(exercise: Exercise, reference: Reference) -> int:
    events = sum(len(reference.solution(s.name).events) for s in exercise.driver.scenarios)
    events = round(events * exercise.driver.cost)
    if events <= _SHORT_RUN:
        return _QUICK_PLAYS
    return _PLAYS if events <= _LONG_RUN else max(40, _PLAYS * _LONG_RUN // events)


def _step(edit: SmallEdit, origin: Origin) -> RepairStep:
    place = origin.place(edit.line)
    return RepairStep(
        kind=edit.phrase,
        where=edit.where,
        line=place.line if place else None,
        cell=place.cell if place else None,
        old=edit.old,
        new=edit.new,
    )
