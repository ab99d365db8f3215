"""Grades a class: each submission runs in a sandbox and is judged outside of it; results are told as they come."""

import hashlib
import logging
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace

from grader.classroom.outcomes import Outcomes, run_submission, sandbox_of
from grader.classroom.run import GradingRun
from grader.classroom.workers import results_here
from grader.course import CourseError, Exercise
from grader.feedback import Feedback, SubmissionResult
from grader.judging.assess import (
    MESSAGES,
    Origin,
    assess,
    kept_waiting,
    not_begun_in_time,
    out_of_time,
    without_trace,
)
from grader.judging.reference import Reference, reference
from grader.observe.trace import Trace
from grader.repair.hint import wants_repair, with_repair
from grader.sandbox.endings import WAITED
from grader.sandbox.sandbox import OVER, Outcome, Sandbox
from grader.submission.submission import Submission
from grader.submission.tamper_scan import reaches_for_the_grader

MAX_SEED = 2**31 - 1


def grade_class(
    run: GradingRun, submissions: Sequence[Submission], finished: Callable[[SubmissionResult], None]
) -> list[SubmissionResult]:
    """Grade every submission and hand each result to `finished` as it comes, in the order they end.

    `run.jobs` processes at once, here or on a Ray cluster, run the students' code in a sandbox each and judge it
    there. A process of its own each: the solution's and the mistakes' programs share torch's process-wide state.

    Returns:
        The results in the order of the submissions.

    Raises:
        SandboxUnavailable: the asked-for isolation cannot be had.
        WorkerDied: worker processes do not even start.
        ClusterError: the Ray cluster cannot be reached, or lost a machine too often.
    """
    results: dict[str, SubmissionResult] = {}
    with closing(_results(run, submissions)) as coming:
        for submission, result in coming:
            results[submission.student] = result or _lost(run, submission)
            finished(results[submission.student])
    return [results[s.student] for s in submissions]


def _results(
    run: GradingRun, submissions: Sequence[Submission]
) -> Generator[tuple[Submission, SubmissionResult | None]]:
    if run.ray is None or not submissions:
        yield from results_here(run, submissions, grade_in)
    else:
        from grader.classroom.cluster import results_there

        yield from results_there(run, submissions, grade_in)


def grade_in(run: GradingRun, submission: Submission, sandbox: Sandbox) -> SubmissionResult:
    """Run a submission in the sandbox and judge what comes back."""
    return assess_submission(run, submission, run_submission(run, submission, sandbox), sandbox)


def grade_one(
    run: GradingRun,
    submission: Submission,
    meanwhile: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> SubmissionResult:
    """Grade a single submission in this process, which saves the start of another.

    `meanwhile` is entered when the sandbox has started: it may begin a thread, say to show that something is going on.
    """
    from grader.classroom import warm  # noqa: F401  (before the sandbox, which may be a fork of this process)

    sandbox = sandbox_of(run, once=True)
    with sandbox, meanwhile():
        return grade_in(run, submission, sandbox)


def _out_of_time(run: GradingRun, outcome: Outcome) -> str:
    if outcome.detail == WAITED:
        return kept_waiting(run.limits.seconds)
    if outcome.detail == OVER:
        return not_begun_in_time(run.submission_seconds)
    return out_of_time(run.limits.cpu_seconds)


def _lost(run: GradingRun, submission: Submission) -> SubmissionResult:
    """The result of a submission of which two workers died: every exercise in it crashed."""
    found = [e.name for e in run.exercises if submission.source_for(e.name) is not None]
    detail = "채점하던 프로세스가 두 번 죽었어요"
    outcomes: Outcomes = {name: Outcome(name, "crashed", None, 0.0, detail) for name in found}
    return assess_submission(run, submission, outcomes)


def assess_submission(
    run: GradingRun, submission: Submission, outcomes: Outcomes, sandbox: Sandbox | None = None
) -> SubmissionResult:
    """Judge what came back for each exercise, and say what never ran.

    The sandbox is still at hand: whatever of the learner's code is to be run in order to explain runs there.
    """
    feedbacks: list[Feedback] = []
    extras: list[Feedback] = []
    for exercise in run.exercises:
        feedback = _feedback(run, submission, exercise, outcomes.get(exercise.name), sandbox)
        others = submission.duplicates(exercise.name)
        if others:
            listed = ", ".join(others)
            note = f"`{exercise.name}` 정의가 여러 파일에 있어요: {listed}. 마지막 파일 {others[-1]}의 것을 채점했어요."
            feedback = replace(feedback, notes=(*feedback.notes, note))
        if exercise.kind == "exercise":
            feedbacks.append(feedback)
        elif feedback.begun and outcomes.get(exercise.name) is not None:
            extras.append(feedback)
    return SubmissionResult(
        student=submission.student,
        feedbacks=tuple(feedbacks),
        notes=tuple(submission.notes),
        scrutiny=reaches_for_the_grader(submission, _reached(submission, outcomes)),
        digest=digest(submission),
        extras=tuple(extras),
    )


def _reached(submission: Submission, outcomes: Outcomes) -> dict[str, tuple[tuple[str, int], ...]]:
    """What was seen to be reached for while the code ran, by file."""
    found: dict[str, tuple[tuple[str, int], ...]] = {}
    for exercise, outcome in outcomes.items():
        source = submission.source_for(exercise)
        if isinstance(outcome, Outcome) and outcome.reached and source is not None:
            found[source.name] = (*found.get(source.name, ()), *outcome.reached)
    return found


def digest(submission: Submission) -> str:
    """Fingerprint of what a student handed in: a resumed run grades anew what has changed."""
    state = hashlib.sha256()
    for file in submission.files:
        broken = "\0".join(f"{problem.text}\0{problem.message}" for problem in file.problems)
        state.update(f"{file.name}\0{file.text}\0{broken}\0".encode("utf-8", "surrogatepass"))
    for unreadable in submission.unreadable:
        state.update(f"{unreadable.name}\0{unreadable.message}\0".encode("utf-8", "surrogatepass"))
    return state.hexdigest()[:16]


def _assessed(
    exercise: Exercise, trace: Trace, known: Reference, origin: Origin, sandbox: Sandbox | None
) -> Feedback:
    """Assess a trace. If a forged trace makes the grader itself fail, only this exercise loses its points."""
    try:
        feedback = assess(exercise, trace, known, origin)
        if sandbox is None or not wants_repair(feedback):
            return feedback
        with sandbox.attempts(known.seed) as attempts:
            runner = attempts.of(exercise.name)
            return with_repair(feedback, exercise, trace.runs, known, origin, runner)
    except CourseError:  # the author's slip, and no student's
        raise
    except Exception:
        logging.getLogger(__name__).exception("assessing %s of %s", exercise.name, origin.file)
        message = f"{MESSAGES['crashed']} (읽을 수 없는 기록)"
        return without_trace(exercise, "crashed", message=message, file=origin.file)


def _feedback(
    run: GradingRun,
    submission: Submission,
    exercise: Exercise,
    outcome: Outcome | str | None,
    sandbox: Sandbox | None,
) -> Feedback:
    source = submission.source_for(exercise.name)
    name = source.name if source is not None else None
    if isinstance(outcome, str):
        return without_trace(exercise, "error", message=outcome, file=name)
    if outcome is None or source is None:
        if submission.unreadable and source is None:
            return without_trace(exercise, "unreadable", message=submission.unreadable_message())
        return without_trace(exercise, "missing")
    if outcome.trace is None:
        status = "crashed" if outcome.status == "ran" else outcome.status
        message = MESSAGES[status] if not outcome.detail else f"{MESSAGES[status]} ({outcome.detail})"
        if status == "timeout":
            message = _out_of_time(run, outcome)
        feedback = without_trace(exercise, status, message=message, file=name)
    else:
        known = reference(exercise.name, run.seed, run.device)
        feedback = _assessed(exercise, outcome.trace, known, Origin.of_file(source), sandbox)
    return replace(feedback, seconds=outcome.seconds)
