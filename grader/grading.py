"""Grades a class: every submission through the sandbox, judged and diagnosed outside it, written as it comes."""

import hashlib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from queue import SimpleQueue

from grader.assess import MESSAGES, Origin, assess, without_trace
from grader.course import Course, Exercise, Lesson
from grader.feedback import Feedback
from grader.mistakes import Reference, reference
from grader.report.results import SubmissionResult
from grader.runtime.trace import Trace
from grader.sandbox import Job, Limits, Outcome, Sandbox
from grader.scrutiny import reaches_for_the_grader
from grader.submission import SourceFile, Submission

MAX_SEED = 2**31 - 1


@dataclass(frozen=True)
class Plan:
    """How a class is graded."""

    course: Course
    lessons: tuple[Lesson, ...]
    seed: int
    device: str = "cpu"
    sandbox: str = "auto"
    jobs: int = 1
    limits: Limits = field(default_factory=Limits)

    @property
    def exercises(self) -> tuple[Exercise, ...]:
        """The exercises that are graded, in the course's order."""
        return tuple(e for lesson in self.lessons for e in lesson.exercises)

    @property
    def modules(self) -> tuple[str, ...]:
        """Exercise modules the sandbox server needs."""
        return tuple(lesson.module for lesson in self.lessons)


def grade_class(
    plan: Plan, submissions: Sequence[Submission], finished: Callable[[SubmissionResult], None]
) -> list[SubmissionResult]:
    """Grade every submission and hand each result to `finished` as it comes, in the order they end.

    Student code runs in `plan.jobs` sandboxes at once; judging and diagnosing stay in this thread, because
    they run the solution's and the mistakes' programs, which share torch's process-wide state.

    Returns:
        The results in the order of the submissions.

    Raises:
        SandboxUnavailable: the asked-for isolation cannot be had here.
    """
    results: dict[str, SubmissionResult] = {}
    with ExitStack() as stack:
        idle: SimpleQueue[Sandbox] = SimpleQueue()
        for _ in range(max(1, min(plan.jobs, len(submissions)))):
            sandbox = Sandbox(plan.sandbox, plan.device, plan.limits, modules=plan.modules)
            idle.put(stack.enter_context(sandbox))
        pool = stack.enter_context(ThreadPoolExecutor(max_workers=idle.qsize()))
        cancelled = threading.Event()
        stack.callback(cancelled.set)  # Ctrl-C: what has not started is not started any more
        for submission, outcomes in _as_they_end(pool, plan, submissions, idle, cancelled):
            result = assess_submission(plan, submission, outcomes)
            results[submission.student] = result
            finished(result)
    return [results[s.student] for s in submissions]


def grade_one(plan: Plan, submission: Submission) -> SubmissionResult:
    """Grade a single submission."""
    (result,) = grade_class(plan, [submission], lambda _: None)
    return result


def assess_submission(
    plan: Plan, submission: Submission, outcomes: dict[str, Outcome | str]
) -> SubmissionResult:
    """Judge what came back for each exercise, and say what never ran."""
    feedbacks = []
    for exercise in plan.exercises:
        feedback = _feedback(plan, submission, exercise, outcomes.get(exercise.name))
        others = submission.duplicates(exercise.name)
        if others:
            note = f"`{exercise.name}` 정의가 여러 파일에 있어요: {', '.join(others)}. 마지막 파일의 것을 채점했어요."
            feedback = replace(feedback, notes=(*feedback.notes, note))
        feedbacks.append(feedback)
    return SubmissionResult(
        student=submission.student,
        feedbacks=tuple(feedbacks),
        notes=tuple(submission.notes),
        scrutiny=reaches_for_the_grader(submission),
        digest=digest(submission),
    )


def digest(submission: Submission) -> str:
    """Fingerprint of what a student handed in: a resumed run grades anew what has changed."""
    state = hashlib.sha256()
    for file in submission.files:
        broken = "\0".join(f"{problem.text}\0{problem.message}" for problem in file.problems)
        state.update(f"{file.name}\0{file.text}\0{broken}\0".encode("utf-8", "surrogatepass"))
    for unreadable in submission.unreadable:
        state.update(f"{unreadable.name}\0{unreadable.message}\0".encode("utf-8", "surrogatepass"))
    return state.hexdigest()[:16]


def _as_they_end(
    pool: ThreadPoolExecutor,
    plan: Plan,
    submissions: Iterable[Submission],
    idle: "SimpleQueue[Sandbox]",
    cancelled: threading.Event,
) -> Iterator[tuple[Submission, dict[str, Outcome | str]]]:
    def run(submission: Submission) -> dict[str, Outcome | str]:
        if cancelled.is_set():
            return {}
        sandbox = idle.get()
        try:
            return run_submission(plan, submission, sandbox)
        finally:
            idle.put(sandbox)

    waiting: dict[Future[dict[str, Outcome | str]], Submission] = {}
    queue = iter(submissions)
    # Twice as many as there are sandboxes: never idle, and never a whole class's traces in memory.
    for submission in queue:
        waiting[pool.submit(run, submission)] = submission
        if len(waiting) >= 2 * plan.jobs:
            yield from _ended(waiting)
    while waiting:
        yield from _ended(waiting)


def _ended(
    waiting: "dict[Future[dict[str, Outcome | str]], Submission]",
) -> Iterator[tuple[Submission, dict[str, Outcome | str]]]:
    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
    for future in done:
        yield waiting.pop(future), future.result()


def run_submission(plan: Plan, submission: Submission, sandbox: Sandbox) -> dict[str, Outcome | str]:
    """Run all exercises a submission defines; one fork for each file it takes them from.

    Returns:
        For each exercise that could be found its outcome, or a Korean message where its cell does not parse.
    """
    outcomes: dict[str, Outcome | str] = {}
    by_file: dict[str, tuple[SourceFile, list[str]]] = {}
    for exercise in plan.exercises:
        source = submission.source_for(exercise.name)
        if source is None:
            continue
        problem = _problem(source, exercise.name)
        if problem is not None:
            outcomes[exercise.name] = problem
            continue
        by_file.setdefault(source.name, (source, []))[1].append(exercise.name)
    for source, names in by_file.values():
        for outcome in sandbox.run(Job(source.text, tuple(names)), plan.seed):
            outcomes[outcome.exercise] = outcome
    return outcomes


def _problem(source: SourceFile, exercise: str) -> str | None:
    """Why the exercise's own cell cannot be read; None when it is defined."""
    problem = source.problem_for(exercise)
    if problem is None:
        return None
    place = source.place(problem.line)
    where = f"{place.line}번째 줄" if place.cell is None else f"셀 {place.cell}의 {place.line}번째 줄"
    return f"{source.name} {where}을 읽을 수 없어요. {problem.message}"


def _assessed(exercise: Exercise, trace: Trace, known: Reference, origin: Origin) -> Feedback:
    """Assess; a forged trace that trips the grader itself costs its own points and nobody else's."""
    try:
        return assess(exercise, trace, known, origin)
    except Exception:
        logging.getLogger(__name__).exception("assessing %s of %s", exercise.name, origin.file)
        message = f"{MESSAGES['crashed']} (읽을 수 없는 기록)"
        return without_trace(exercise, "crashed", message=message, file=origin.file)


def _feedback(
    plan: Plan, submission: Submission, exercise: Exercise, outcome: Outcome | str | None
) -> Feedback:
    source = submission.source_for(exercise.name)
    name = source.name if source is not None else None
    if isinstance(outcome, str):
        return without_trace(exercise, "error", message=outcome, file=name)
    if outcome is None or source is None:
        if submission.unreadable and source is None:
            message = " ".join(f"{u.name}: {u.message}" for u in submission.unreadable)
            return without_trace(exercise, "unreadable", message=message)
        return without_trace(exercise, "missing")
    if outcome.trace is None:
        status = "crashed" if outcome.status == "ran" else outcome.status
        message = MESSAGES[status] if not outcome.detail else f"{MESSAGES[status]} ({outcome.detail})"
        feedback = without_trace(exercise, status, message=message, file=name)
    else:
        known = reference(exercise.name, plan.seed, plan.device, thorough=True)
        feedback = _assessed(exercise, outcome.trace, known, Origin.of_file(source))
    return replace(feedback, seconds=outcome.seconds)
