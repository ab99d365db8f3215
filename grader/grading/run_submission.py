"""Runs one submission's exercises in a sandbox and says what came back, not yet judged."""

from collections.abc import Collection
from itertools import groupby
from operator import itemgetter

from grader.grading.grading_run import GradingRun
from grader.sandbox.sandbox import Job, Outcome, Sandbox
from grader.submission.source_file import SourceFile
from grader.submission.submission import Submission

Outcomes = dict[str, Outcome | str]
"""For each exercise that was found: its outcome, or a Korean message if its cell does not parse."""


def sandbox_of(run: GradingRun, *, once: bool = False) -> Sandbox:
    """The sandbox that a grading run asks for; `once`: for one submission of one's own.

    Raises:
        SandboxUnavailable: submissions cannot be isolated here, and are to be.
    """
    return Sandbox(
        run.sandbox,
        run.device,
        run.limits,
        lessons=run.packages,
        added=run.added,
        ahead=run.ahead,
        once=once,
    )


def run_submission(
    run: GradingRun, submission: Submission, sandbox: Sandbox, *, until: float, known: Collection[str] = ()
) -> Outcomes:
    """Run all exercises a submission defines, in the order of the course.

    Args:
        run: how the class is graded.
        submission: what to run.
        sandbox: where.
        until: the moment, as `time.monotonic` tells it, after which no further exercise is begun.
        known: exercises that need not be run.

    Returns:
        For each exercise that was found: its outcome, or a Korean message if its cell does not parse.
    """
    outcomes: Outcomes = {}
    found: list[tuple[SourceFile, str]] = []
    for exercise in run.exercises:
        source = submission.source_for(exercise.name)
        if source is None or exercise.name in known:
            continue
        problem = source.complaint(exercise.name)
        if problem is not None:
            outcomes[exercise.name] = problem
            continue
        found.append((source, exercise.name))
    jobs = [
        Job(source.text, tuple(name for _, name in part))
        for source, part in groupby(found, key=itemgetter(0))
    ]
    return outcomes | {o.exercise: o for o in sandbox.run(jobs, run.seed, until=until)}
