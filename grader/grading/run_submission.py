"""Run one submission's exercises in a sandbox and return the outcomes.

`grade_submission.py` calls `run_submission` and judges what comes out. How the sandbox runs them: `sandbox/sandbox.py`.
"""

from itertools import groupby
from operator import itemgetter

from grader.grading.grading_run import GradingRun
from grader.sandbox.sandbox import Job, Outcome, Sandbox
from grader.submission.source_file import Complaint, SourceFile
from grader.submission.submission import Submission

Outcomes = dict[str, Outcome | Complaint]
"""Name of each exercise that was found -> its outcome; if its code does not parse, a complaint that tells why."""


def start_sandbox(run: GradingRun, *, may_fork: bool = False) -> Sandbox:
    """Start the sandbox that a grading run asks for.

    Args:
        run: settings of the grading.
        may_fork: the sandbox is for a single submission of the user's own (see `Sandbox`).

    Raises:
        SandboxUnavailable: isolation is requested but not available here.
    """
    return Sandbox(
        run.sandbox,
        run.device,
        run.limits,
        lessons=run.lesson_packages,
        added_packages=run.added_packages,
        preimports=run.preimports,
        may_fork=may_fork,
    )


def run_submission(run: GradingRun, submission: Submission, sandbox: Sandbox, *, deadline: float) -> Outcomes:
    """Run all exercises that a submission defines, in the order of the course.

    Args:
        run: settings of the grading.
        submission: the submission to run.
        sandbox: the sandbox to run it in.
        deadline: time of `time.monotonic()` after which no further exercise is begun.

    Returns:
        The outcomes and complaints; nothing for exercises that the submission does not define.

    Raises:
        SandboxUnavailable: the sandbox cannot be used any more.
    """
    outcomes: Outcomes = {}
    found: list[tuple[SourceFile, str]] = []  # file and exercise
    for exercise in run.exercises:
        source = submission.source_for(exercise.name)
        if source is None:
            continue
        complaint = source.complaint(exercise.name)
        if complaint is not None:
            outcomes[exercise.name] = complaint
            continue
        found.append((source, exercise.name))
    jobs = [
        Job(source.program, tuple(name for _, name in exercises))
        for source, exercises in groupby(found, key=itemgetter(0))
    ]
    return outcomes | {
        outcome.exercise: outcome for outcome in sandbox.run(jobs, run.seed, deadline=deadline)
    }
