"""Add to a feedback what only plays of edited programs can tell.

That is what the program remembers from one call to the next (`remembered_state`) or, if it remembers nothing, a repair
and its place (`search`). The programs are played after `assess`, for feedback that names no mistake or leaves something
unexplained (`wants_repair`).
"""

from collections.abc import Mapping
from dataclasses import replace

from grader.course.course import Exercise
from grader.course.feedback import Diagnosis, Feedback, Remembered, RepairStep
from grader.judging.judge import judge
from grader.judging.messages import message_without_mistakes
from grader.judging.origin import Origin
from grader.judging.reference import Reference
from grader.judging.repair.remembered_state import line_that_could_remember, scenarios_changed_by_reloading
from grader.judging.repair.search import Repair, Runner, search_repair
from grader.judging.repair.small_edits import SmallEdit
from grader.observe.trace import Run, Trace
from grader.sandbox.spent import AttemptsSpent

# The budget of plays, by the number of events that the solution has in all scenarios together.
_FEW_EVENTS = 60
"""Number of events up to which plays are quick."""
_QUICK_PLAYS = 300
"""Budget for exercises with few events."""
_MANY_EVENTS = 330
"""Number of events above which plays are slow, and the budget shrinks in proportion."""
_USUAL_PLAYS = 160
"""Budget for exercises in between: about a second, at 2 to 8 ms a play."""
_MIN_PLAYS = 40
"""Smallest budget, before it is divided."""
_DIVISOR_WITH_A_CLUE = 2
"""Divisor of the budget if the learner is told something without a repair: a mistake, or where an exception was."""


def wants_repair(feedback: Feedback) -> bool:
    """Return True if the code is begun and wrong, and no diagnosis explains everything.

    A diagnosis is the named mistakes, a pasted program, or a signature that differs from the exercise's.
    """
    diagnosis = feedback.diagnosis
    explained = (diagnosis.mistakes and not diagnosis.unexplained) or diagnosis.pasted or diagnosis.signature
    return feedback.begun and feedback.status in ("failed", "error") and not explained


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
        runner: plays edited versions of the learner's code where they can do no harm.
    """
    if not runs:  # the program does not even load
        return feedback
    told = _with_remembered_state(feedback, exercise, runs, reference, origin, runner)
    if told is not None:
        return told
    has_clue = _has_clue(feedback)
    budget = _play_budget(exercise, reference) // (_DIVISOR_WITH_A_CLUE if has_clue else 1)
    repair = search_repair(exercise, origin.source, runs, reference.solution, runner, budget=budget)
    if repair is None:
        return feedback
    mends_half = len(repair.repaired_scenarios) >= len(repair.still_failing)
    if not repair.repairs_everything and (has_clue or not mends_half):
        return feedback
    return _with_steps(feedback, exercise, origin, repair)


def _has_clue(feedback: Feedback) -> bool:
    """Return True if the feedback names a mistake or shows an exception."""
    return bool(feedback.diagnosis.mistakes) or feedback.error is not None


def _with_steps(feedback: Feedback, exercise: Exercise, origin: Origin, repair: Repair) -> Feedback:
    """Return the feedback with the steps of a repair, pointing at the first unless something else is to be shown."""
    steps = tuple(_repair_step(edit, origin) for edit in repair.edits)
    titles_left = tuple(exercise.driver[name].title for name in repair.still_failing)
    told = replace(feedback, diagnosis=replace(feedback.diagnosis, repair=steps, repair_leaves=titles_left))
    if feedback.diagnosis.mistakes:
        if len(steps) > 1:  # mistakes are named, and may be right: their line stays
            return told
        # One small edit repairs everything, so mistakes that left scenarios unexplained were named wrongly.
        told = replace(told, diagnosis=replace(told.diagnosis, mistakes=(), unexplained=()))
        told = replace(told, message=message_without_mistakes(told))
    if feedback.error is not None:  # the line to show stays the one that raised
        return told
    source_line = origin.text(repair.edits[0].line)
    return replace(told, line=steps[0].line, cell=steps[0].cell, source_line=source_line)


def _with_remembered_state(
    feedback: Feedback,
    exercise: Exercise,
    runs: Mapping[str, Run],
    reference: Reference,
    origin: Origin,
    runner: Runner,
) -> Feedback | None:
    """Return the feedback with what the program remembers and without mistakes.

    None if the program remembers nothing, or if nothing more can be played to find out whether it does.
    """
    line = line_that_could_remember(origin.source, exercise.name)
    if line is None:
        return None
    differences = judge(exercise, Trace(dict(runs)), reference.solution).differences
    failing = [name for name in differences if name in runs]
    try:
        affected = scenarios_changed_by_reloading(exercise, origin.source, runs, failing, runner)
    except AttemptsSpent:
        return None
    if not affected:
        return None
    place = origin.place(line)
    remembered = Remembered(
        tuple(exercise.driver[name].title for name in affected),
        place.line if place else None,
        place.cell if place else None,
    )
    # What is remembered also spoils a second call within a scenario, as other mistakes would: no name is certain.
    diagnosis = Diagnosis(first_difference=feedback.diagnosis.first_difference, remembered=remembered)
    return replace(
        feedback,
        diagnosis=diagnosis,
        line=remembered.line,
        cell=remembered.cell,
        source_line=origin.text(line),
    )


def _play_budget(exercise: Exercise, reference: Reference) -> int:
    """Return the maximum number of plays: the more events the solution's runs have, the fewer.

    Scenarios that watch memory are left out. They come last, so that an edit that mends nothing else never gets there.
    """
    played = [s.name for s in exercise.driver.scenarios if not s.watches_memory]
    events = sum(len(reference.solution(name).events) for name in played)
    events = round(events * exercise.driver.cost)
    if events <= _FEW_EVENTS:
        return _QUICK_PLAYS
    if events <= _MANY_EVENTS:
        return _USUAL_PLAYS
    return max(_MIN_PLAYS, _USUAL_PLAYS * _MANY_EVENTS // events)


def _repair_step(edit: SmallEdit, origin: Origin) -> RepairStep:
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
