"""Add to feedback what only playing more programs can tell, after `assess`.

This is done for feedback whose diagnosis does not explain everything (`wants_repair`). If the program remembers
something from one call to the next, a line that could do so is added (`remembered_state.py`), otherwise a repair with
its lines (`search.py`).

`grading/grade_submission.py` and `notebook/check.py` call `with_repair` where `wants_repair` is true, with a runner
that plays in the sandbox. Another cause that only more plays can find is looked for in `with_repair`, before a repair.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from grader.course.course import Exercise
from grader.course.feedback import Diagnosis, Feedback, Remembered, RepairStep
from grader.judging.judge import judge
from grader.judging.learner_code import LearnerCode
from grader.judging.messages import with_diagnosis, without_mistakes
from grader.judging.reference import Reference
from grader.judging.repair.remembered_state import line_that_could_remember, scenarios_changed_by_reloading
from grader.judging.repair.search import Repair, Runner, search_repair
from grader.judging.repair.small_edits import SmallEdit
from grader.judging.right_lines import GAP
from grader.observe.program import DID_YOU_MEAN
from grader.observe.trace import Run, Trace
from grader.sandbox.attempts_spent import AttemptsSpent

# The budget of a search is a number of plays. `_play_budget` makes it smaller the more events the solution's runs have,
# because a play with more events takes longer.
_FEW_EVENTS = 60
"""Number of events up to which plays are quick."""
_BUDGET_FOR_FEW_EVENTS = 300
"""Budget for exercises with at most `_FEW_EVENTS`."""
_MANY_EVENTS = 330
"""Number of events above which the budget shrinks: twice as many events, half the budget."""
_USUAL_BUDGET = 160
"""Budget for exercises in between: about a second, at 2 to 8 ms a play."""
_MIN_BUDGET = 40
"""Smallest budget, before it is divided."""
_BUDGET_DIVISOR_WITH_CLUE = 2
"""Divisor of the budget if feedback tells something even without a repair (`_has_clue`)."""


def wants_repair(feedback: Feedback) -> bool:
    """Return True if the code is begun, has failed or raised, and nothing explains that fully yet.

    The diagnosis may (`Diagnosis.explains_all`). A misspelt name that ended a run is explained, too: the exception's
    message suggests the right name, which is the repair.
    """
    is_misspelt = feedback.error is not None and DID_YOU_MEAN in feedback.error
    is_explained = feedback.diagnosis.explains_all or is_misspelt
    return feedback.begun and feedback.status in ("failed", "error") and not is_explained


def with_repair(
    feedback: Feedback,
    exercise: Exercise,
    runs: Mapping[str, Run],
    reference: Reference,
    learner_code: LearnerCode,
    runner: Runner,
) -> Feedback:
    """Return the feedback with what the program remembers from earlier calls, or else with a repair and its place.

    The feedback is returned unchanged if neither is found. A repair that leaves scenarios failing is told only if it
    repairs at least as many as it leaves, and if the feedback names no mistake and shows no exception.

    Args:
        feedback: feedback for which `wants_repair` is true.
        exercise: the exercise that was judged.
        runs: the learner's runs.
        reference: the runs with which they were compared.
        learner_code: the learner's code, with the place of each line.
        runner: plays edited versions of the learner's code where they can do no harm.
    """
    if not runs:  # the program does not even load
        return feedback
    with_remembered = _with_remembered_state(feedback, exercise, runs, reference, learner_code, runner)
    if with_remembered is not None:
        return with_remembered
    has_clue = _has_clue(feedback)
    budget = _play_budget(exercise, reference) // (_BUDGET_DIVISOR_WITH_CLUE if has_clue else 1)
    repair = search_repair(exercise, learner_code.text, runs, reference.solution_run, runner, budget=budget)
    if repair is None:
        return feedback
    repairs_half = len(repair.repaired_scenarios) >= len(repair.still_failing)  # half of what failed, or more
    if not repair.repairs_everything and (has_clue or not repairs_half):
        return feedback
    return _with_steps(feedback, exercise, learner_code, repair)


def _with_remembered_state(
    feedback: Feedback,
    exercise: Exercise,
    runs: Mapping[str, Run],
    reference: Reference,
    learner_code: LearnerCode,
    runner: Runner,
) -> Feedback | None:
    """Return the feedback with what the program remembers, and of its diagnosis only the first difference.

    None if the program is not found to remember anything, or if no more can be played to find that out.
    """
    line = line_that_could_remember(learner_code.text, exercise.name)
    if line is None:
        return None
    differences = judge(exercise, Trace(dict(runs)), reference.solution_run).differences
    failing = [name for name in differences if name in runs]
    try:
        affected = scenarios_changed_by_reloading(exercise, learner_code.text, runs, failing, runner)
    except AttemptsSpent:
        return None
    if not affected:
        return None
    place = learner_code.place_of(line)
    remembered = Remembered(
        tuple(exercise.driver[name].title for name in affected),
        place.line if place else None,
        place.cell if place else None,
    )
    # What is remembered also spoils a second call within a scenario. That may look like a known mistake, so the rest of
    # the diagnosis is not to be trusted.
    diagnosis = Diagnosis(first_difference=feedback.diagnosis.first_difference, remembered=remembered)
    return replace(
        with_diagnosis(feedback, diagnosis),
        line=remembered.line,
        cell=remembered.cell,
        source_line=learner_code.line_text(line),
    )


def _has_clue(feedback: Feedback) -> bool:
    """Return True if the feedback names a mistake or shows an exception."""
    return bool(feedback.diagnosis.mistakes) or feedback.error is not None


def _play_budget(exercise: Exercise, reference: Reference) -> int:
    """Return the number of plays after which no further edit is tried.

    It falls with the number of events in the solution's runs, multiplied by the driver's `cost`. Scenarios that watch
    memory are not counted: most edits are dropped before they are played in one.
    """
    scenarios = [scenario.name for scenario in exercise.driver.scenarios if not scenario.watches_memory]
    events = sum(len(reference.solution_run(name).events) for name in scenarios)
    events = round(events * exercise.driver.cost)
    if events <= _FEW_EVENTS:
        return _BUDGET_FOR_FEW_EVENTS
    if events <= _MANY_EVENTS:
        return _USUAL_BUDGET
    return max(_MIN_BUDGET, _USUAL_BUDGET * _MANY_EVENTS // events)


def _with_steps(
    feedback: Feedback, exercise: Exercise, learner_code: LearnerCode, repair: Repair
) -> Feedback:
    """Return the feedback with the steps of a repair, pointing at the line of the first step.

    The line stays if the feedback shows an exception, or if it names mistakes and the repair has several steps; a
    mistake whose missing line a step inserts goes to the step's place. If it names mistakes and the repair has one
    step, the mistakes are taken away.
    """
    steps = tuple(_repair_step(edit, learner_code) for edit in repair.edits)
    titles_left = tuple(exercise.driver[name].title for name in repair.still_failing)
    result = replace(feedback, diagnosis=replace(feedback.diagnosis, repair=steps, repair_leaves=titles_left))
    if feedback.diagnosis.mistakes:
        if len(steps) > 1:  # the named mistakes may be right
            return _with_mistakes_at_steps(result, repair, steps, learner_code)
        # One edit repairs everything, so mistakes that left scenarios unexplained were probably named wrongly.
        result = without_mistakes(result)
    if feedback.error is not None:  # the line is the one that raised
        return result
    source_line = learner_code.line_text(repair.edits[0].line)
    return replace(result, line=steps[0].line, cell=steps[0].cell, source_line=source_line)


def _with_mistakes_at_steps(
    feedback: Feedback, repair: Repair, steps: Sequence[RepairStep], learner_code: LearnerCode
) -> Feedback:
    """Return the feedback with each mistake of a missing line at the step that inserts it, so that one place is named.

    A step belongs to a mistake if it inserts the solution's lines at the mistake's place (`NamedMistake.right_lines`).
    """
    mistakes = list(feedback.diagnosis.mistakes)
    shown = mistakes[0].line, mistakes[0].cell
    for number, named in enumerate(mistakes):
        wanted = {line.strip() for line in named.right_lines} - {GAP}
        for edit, step in zip(repair.edits, steps, strict=True):
            inserted = {line.strip() for line in edit.new} if edit.side and not edit.old else set()
            inserts_what_lacks = bool(wanted) and wanted <= inserted
            if inserts_what_lacks and (named.before or named.after) and step.line is not None:
                mistakes[number] = replace(
                    named,
                    line=step.line,
                    cell=step.cell,
                    before=edit.side == "before",
                    after=edit.side != "before",
                    source_line=learner_code.line_text(edit.line),
                )
                break
    first = mistakes[0]
    feedback = replace(feedback, diagnosis=replace(feedback.diagnosis, mistakes=tuple(mistakes)))
    if feedback.error is not None or (feedback.line, feedback.cell) != shown:
        return feedback
    return replace(feedback, line=first.line, cell=first.cell, source_line=first.source_line, lines_above=0)


def _repair_step(edit: SmallEdit, learner_code: LearnerCode) -> RepairStep:
    """Return an edit as a step of the repair, with its line as the learner counts it."""
    place = learner_code.place_of(edit.line)
    return RepairStep(
        kind=edit.phrase,
        where=edit.where,
        line=place.line if place else None,
        cell=place.cell if place else None,
        old=edit.old,
        new=edit.new,
    )
