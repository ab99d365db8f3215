"""Grade one submission: run its exercises in a sandbox, and judge the traces outside of it.

`classroom/grade_class.py` calls `grade_in_sandbox` for each submission, `own_file.py` calls `grade_one` for a learner's
file. The result holds feedback on each exercise; `report/` words it. What is said of an exercise that was not run, or
whose trace is missing, is decided in `_feedback_on`; how a trace is judged, in `judging/assess.py`.
"""

import ast
import copy
import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from grader.course.course import CourseError, Exercise
from grader.course.exercise_cell import running_starter
from grader.course.feedback import Feedback, SubmissionResult, Unread
from grader.grading.grading_run import GradingRun
from grader.grading.run_submission import Outcomes, run_submission, start_sandbox
from grader.grading.warm import warm_up
from grader.judging.assess import assess, feedback_on_syntax_error, feedback_without_trace
from grader.judging.learner_code import LearnerCode
from grader.judging.messages import (
    CUT_OFF_MESSAGE,
    STATUS_MESSAGES,
    TOO_MANY_PROCESSES_MESSAGE,
    TOO_MANY_THREADS_MESSAGE,
    UNREADABLE_MESSAGE,
    no_time_left_message,
    only_waited_message,
    time_limit_message,
)
from grader.judging.own_edit import wants_own_edit, with_own_edit
from grader.judging.reference import Reference, cached_reference
from grader.judging.repair.add_repair import wants_repair, with_repair
from grader.observe.trace import Trace
from grader.observe.wording import particle
from grader.sandbox.attempts import Attempts
from grader.sandbox.client import SuspiciousAct
from grader.sandbox.no_answer import (
    CUT_OFF,
    ONLY_WAITED,
    TOO_MANY_PROCESSES,
    TOO_MANY_THREADS,
    UNREADABLE_DETAILS,
    UNREADABLE_TRACE,
)
from grader.sandbox.sandbox import NO_TIME_LEFT, Outcome, Sandbox
from grader.sandbox.server_process import SandboxUnavailable
from grader.submission.close_names import Pairing, close_names
from grader.submission.source_file import Complaint
from grader.submission.submission import Submission
from grader.submission.syntax import definition_of
from grader.submission.tamper_scan import suspicious_lines

_MAX_UNREAD = 20
"""Maximum number of files listed that could not be read."""
_CRASH_MESSAGES = {
    CUT_OFF: CUT_OFF_MESSAGE,
    TOO_MANY_THREADS: TOO_MANY_THREADS_MESSAGE,
    TOO_MANY_PROCESSES: TOO_MANY_PROCESSES_MESSAGE,
}
"""Detail of a crash -> the message that says it all. After another message, the detail follows."""


def grade_in_sandbox(run: GradingRun, submission: Submission, sandbox: Sandbox) -> SubmissionResult:
    """Run a submission in the sandbox and judge the traces."""
    deadline = time.monotonic() + run.submission_seconds
    outcomes = run_submission(run, submission, sandbox, deadline=deadline)
    return assess_submission(run, submission, outcomes, sandbox)


def grade_one(
    run: GradingRun,
    submission: Submission,
    meanwhile: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> SubmissionResult:
    """Grade a single submission in this process, which saves the start of another.

    Args:
        run: settings of the grading.
        submission: the submission.
        meanwhile: context manager entered after the sandbox has started. It may start a thread, e.g. to show progress.
    """
    warm_up()  # before the sandbox starts, which may be a fork of this process
    sandbox = start_sandbox(run, may_fork=True)
    with sandbox, meanwhile():
        return grade_in_sandbox(run, submission, sandbox)


def assess_submission(
    run: GradingRun,
    submission: Submission,
    outcomes: Outcomes,
    sandbox: Sandbox | None = None,
) -> SubmissionResult:
    """Judge the outcome of each exercise, and report the exercises that were not run.

    Args:
        run: settings of the grading.
        submission: the submission.
        outcomes: results of running its exercises.
        sandbox: where attempts are played when a repair is searched; None: no search.
    """
    absent = (e for e in run.exercises if submission.source_for(e.name) is None)
    pairings = {
        pairing.exercise: pairing for pairing in close_names(submission.files, absent, run.course.exercises)
    }
    # The exercises share the attempts, whose time is limited for a whole submission.
    with nullcontext() if sandbox is None else sandbox.attempts(run.seed) as attempts:
        judged = {
            e.name: _feedback_on(run, submission, e, outcomes.get(e.name), attempts, pairings.get(e.name))
            for e in run.exercises
        }
    feedbacks: list[Feedback] = []
    extras: list[Feedback] = []
    for exercise in run.exercises:
        feedback = judged[exercise.name]
        files = submission.duplicates(exercise.name)
        if files:
            listed = ", ".join(files)
            note = f"`{exercise.name}` 정의가 여러 파일에 있어요: {listed}. 마지막 파일 {files[-1]}의 것을 채점했어요."
            feedback = replace(feedback, notes=(*feedback.notes, note))
        if exercise.kind == "exercise":
            feedbacks.append(feedback)
        elif (
            feedback.begun
            and outcomes.get(exercise.name) is not None
            and (run.own_file or not _is_as_handed_out(run, submission, exercise))
        ):
            extras.append(feedback)
    return SubmissionResult(
        student=submission.student,
        feedbacks=tuple(feedbacks),
        notes=tuple(submission.notes),
        scrutiny=suspicious_lines(submission, _acts_by_file(submission, outcomes)),
        digest=submission.digest,
        extras=tuple(extras),
        unread=tuple(Unread(one.name, one.message) for one in submission.unreadable[:_MAX_UNREAD]),
    )


def _feedback_on(
    run: GradingRun,
    submission: Submission,
    exercise: Exercise,
    outcome: Outcome | Complaint | None,
    attempts: Attempts | None,
    pairing: Pairing | None,
) -> Feedback:
    """Return feedback on one exercise.

    Args:
        run: settings of the grading.
        submission: the submission.
        exercise: the exercise.
        outcome: result of running it; a complaint if its code does not parse; None if it was not run.
        attempts: play attempts when a repair is searched; None: no search.
        pairing: a function that is probably meant as this exercise, which is not defined; None: there is none.
    """
    source = submission.source_for(exercise.name)
    file = source.name if source is not None else None
    if isinstance(outcome, Complaint):
        return feedback_on_syntax_error(exercise, outcome, file)
    if outcome is None or source is None:
        if submission.unreadable and source is None:
            return feedback_without_trace(exercise, "unreadable", message=submission.unreadable_message())
        missing = feedback_without_trace(exercise, "missing")
        if pairing is None:
            return missing
        return replace(missing, message=_close_name_message(pairing), other_name=pairing.own)
    if outcome.trace is None:
        status = "crashed" if outcome.status == "ran" else outcome.status
        message = STATUS_MESSAGES[status]
        if status == "timeout":
            message = _timeout_message(run, outcome)
        elif status == "crashed":
            message = _crash_message(outcome.detail)
        feedback = feedback_without_trace(exercise, status, message=message, file=file)
    else:
        known_runs = cached_reference(exercise.name, run.seed, run.device)
        code = LearnerCode.of_own_file(source, exercise.name) if run.own_file else LearnerCode.of_file(source)
        feedback = _assess_and_repair(exercise, outcome.trace, known_runs, code, attempts, hints=run.own_file)
        if note := source.note_on(feedback.error):
            feedback = replace(feedback, notes=(*feedback.notes, note))
    return replace(feedback, seconds=outcome.seconds)


def _close_name_message(pairing: Pairing) -> str:
    """Return the message for an exercise that is missing although a function of a similar name is there."""
    return (
        f"{STATUS_MESSAGES['missing']} 이름이 비슷한 `{pairing.own}`{particle(pairing.own, '이/가')} "
        f"{pairing.file} {pairing.place.in_words()}에 있어요. 이것이 답이라면 이름을 "
        f"`{pairing.exercise}`{particle(pairing.exercise, '으로/로')} 바꿔 주세요."
    )


def _crash_message(detail: str) -> str:
    """Return the Korean message for a crash, which tells its reason, a detail of `no_answer.py`."""
    if detail in _CRASH_MESSAGES:
        return _CRASH_MESSAGES[detail]
    message = UNREADABLE_MESSAGE if detail in UNREADABLE_DETAILS else STATUS_MESSAGES["crashed"]
    return f"{message} ({detail})" if detail else message


def _timeout_message(run: GradingRun, outcome: Outcome) -> str:
    """Return the Korean message for a timeout, which tells which time ran out."""
    if outcome.detail == ONLY_WAITED:
        return only_waited_message(run.limits.seconds)
    if outcome.detail == NO_TIME_LEFT:
        return no_time_left_message(run.submission_seconds)
    return time_limit_message(run.limits.cpu_seconds)


def _assess_and_repair(
    exercise: Exercise,
    trace: Trace,
    known_runs: Reference,
    learner_code: LearnerCode,
    attempts: Attempts | None,
    *,
    hints: bool,
) -> Feedback:
    """Assess a trace, and search for a repair if the feedback needs one; return the feedback.

    If a forged trace makes the grader itself fail, only this exercise loses its points.

    Args:
        exercise: the exercise.
        trace: the learner's trace.
        known_runs: runs of the solution and of the known mistakes.
        learner_code: the learner's code, with the place of each line.
        attempts: play attempts; None: no search.
        hints: where known mistakes explain everything, search for the edit that hints tell (`judging/own_edit.py`).

    Raises:
        CourseError: the author of the course made an error.
        SandboxUnavailable: the sandbox cannot be used any more.
    """
    try:
        feedback = assess(exercise, trace, known_runs, learner_code)
        needs_repair, needs_edit = wants_repair(feedback), hints and wants_own_edit(feedback)
        if attempts is not None and (needs_repair or needs_edit):
            search = with_repair if needs_repair else with_own_edit
            runner = attempts.for_exercise(exercise.name)
            return search(feedback, exercise, trace.runs, known_runs, learner_code, runner)
        return feedback
    except (CourseError, SandboxUnavailable):  # a fault of the author or the machine, not of the student
        raise
    except Exception:
        logging.getLogger(__name__).exception("assessing %s of %s", exercise.name, learner_code.file)
        message = _crash_message(UNREADABLE_TRACE)
        return feedback_without_trace(exercise, "crashed", message=message, file=learner_code.file)


def _is_as_handed_out(run: GradingRun, submission: Submission, exercise: Exercise) -> bool:
    """Return True if the exercise has a starter that runs, with only lines left out, and was handed in unchanged."""
    part = run.course.lesson(exercise.lesson).part_of(exercise.name)
    starter = running_starter(part.source.read_text(encoding="utf-8"), exercise.name)
    source = submission.source_for(exercise.name)
    own = None if starter is None or source is None else definition_of(source.text, exercise.name)
    if starter is None or own is None:
        return False
    own = copy.copy(own)  # syntax trees are cached
    if ast.get_docstring(own) is not None:
        own.body = own.body[1:]  # the starter has no docstring either
    return ast.unparse(own) == ast.unparse(ast.parse(starter))


def _acts_by_file(submission: Submission, outcomes: Outcomes) -> dict[str, tuple[SuspiciousAct, ...]]:
    """Return the suspicious acts that were observed while the code of each file ran, by the file's name."""
    found: dict[str, tuple[SuspiciousAct, ...]] = {}
    for exercise, outcome in outcomes.items():
        source = submission.source_for(exercise)
        if isinstance(outcome, Outcome) and outcome.suspicious_acts and source is not None:
            found[source.name] = (*found.get(source.name, ()), *outcome.suspicious_acts)
    return found
