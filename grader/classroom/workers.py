"""Runs submissions in sandboxes on this machine and hands over what came back, not yet judged."""

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from queue import SimpleQueue

from grader.classroom.run import GradingRun
from grader.sandbox.sandbox import Job, Outcome, Sandbox
from grader.submission.file import SourceFile
from grader.submission.submission import Submission

Outcomes = dict[str, Outcome | str]
"""For each exercise that was found: its outcome, or a Korean message if its cell does not parse."""


def outcomes_here(
    run: GradingRun, submissions: Iterable[Submission]
) -> Iterator[tuple[Submission, Outcomes]]:
    """Every submission with what came back, in the order they end; `run.jobs` sandboxes at once.

    Raises:
        SandboxUnavailable: the asked-for isolation cannot be had here.
    """
    waiting_for = list(submissions)
    with ExitStack() as stack:
        idle: SimpleQueue[Sandbox] = SimpleQueue()
        sandboxes = [
            stack.enter_context(Sandbox(run.sandbox, run.device, run.limits, lessons=run.packages))
            for _ in range(max(1, min(run.jobs, len(waiting_for))))
        ]
        pool = stack.enter_context(ThreadPoolExecutor(max_workers=len(sandboxes)))
        for sandbox in sandboxes:
            idle.put(sandbox)
            stack.callback(sandbox.cancel)  # Ctrl-C: the pool waits for the exercises that run, not for all
        yield from _as_they_end(pool, run, waiting_for, idle)


def _as_they_end(
    pool: ThreadPoolExecutor,
    run: GradingRun,
    submissions: Iterable[Submission],
    idle: "SimpleQueue[Sandbox]",
) -> Iterator[tuple[Submission, Outcomes]]:
    def carry_out(submission: Submission) -> Outcomes:
        sandbox = idle.get()
        try:
            return run_submission(run, submission, sandbox)
        finally:
            idle.put(sandbox)

    waiting: dict[Future[Outcomes], Submission] = {}
    queue = iter(submissions)
    # Two submissions for each sandbox: none is idle, and memory never holds a whole class's traces.
    for submission in queue:
        waiting[pool.submit(carry_out, submission)] = submission
        if len(waiting) >= 2 * run.jobs:
            yield from _ended(waiting)
    while waiting:
        yield from _ended(waiting)


def _ended(
    waiting: "dict[Future[Outcomes], Submission]",
) -> Iterator[tuple[Submission, Outcomes]]:
    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
    for future in done:
        yield waiting.pop(future), future.result()


def run_submission(run: GradingRun, submission: Submission, sandbox: Sandbox) -> Outcomes:
    """Run all exercises a submission defines; one fork for each file it takes them from.

    Returns:
        For each exercise that was found: its outcome, or a Korean message if its cell does not parse.
    """
    outcomes: Outcomes = {}
    by_file: dict[str, tuple[SourceFile, list[str]]] = {}
    for exercise in run.exercises:
        source = submission.source_for(exercise.name)
        if source is None:
            continue
        problem = _problem(source, exercise.name)
        if problem is not None:
            outcomes[exercise.name] = problem
            continue
        by_file.setdefault(source.name, (source, []))[1].append(exercise.name)
    for source, names in by_file.values():
        for outcome in sandbox.run(Job(source.text, tuple(names)), run.seed):
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
