"""Grades a class: workers run and judge each submission; results are told as they come.

This process does neither: it is ready at once, because it does not import torch.
"""

import logging
from collections import deque
from collections.abc import Callable, Collection, Generator
from contextlib import closing
from dataclasses import replace

from grader.base.errors import HanstepError
from grader.classroom.workers import results_here
from grader.course.feedback import SubmissionResult
from grader.grading.grading_run import GradingRun
from grader.grading.run_submission import Outcomes
from grader.sandbox.sandbox import Outcome, Sandbox
from grader.submission.submission import Submission

MAX_SEED = 2**31 - 1
_OFTEN_IMPORTED = ("matplotlib.pyplot", "sklearn.datasets", "torch.utils.data")
"""By notebooks of this course, each for up to a second. Others, which a submission could name, are not for a sandbox
that the next submission will be forked from."""


def grade_class(
    run: GradingRun, submissions: deque[Submission], finished: Callable[[SubmissionResult], None]
) -> None:
    """Grade every submission and hand each result to `finished` as it comes, in the order they end; none is kept.

    Neither are the submissions: `submissions` is empty in the end.

    `run.jobs` processes at once, here or on a Ray cluster, run the students' code in a sandbox each and judge it
    there. A process of its own each: the solution's and the mistakes' programs share torch's process-wide state.

    Raises:
        SandboxUnavailable: the asked-for isolation cannot be had.
        WorkerDied: worker processes do not even start.
        ClusterError: the Ray cluster cannot be reached, or lost a machine too often.
    """
    run = replace(run, ahead=_imported(submissions))
    with closing(_results(run, submissions)) as coming:
        for submission, result in coming:
            finished(result or _lost(run, submission))


def _results(
    run: GradingRun, submissions: deque[Submission]
) -> Generator[tuple[Submission, SubmissionResult | None]]:
    if run.ray is None or not submissions:
        yield from results_here(run, submissions, _grade)
    else:
        from grader.classroom.cluster import results_there

        yield from results_there(run, submissions, _grade)


def _imported(submissions: Collection[Submission]) -> tuple[str, ...]:
    """Which of the modules that take long to import the class mentions."""
    texts = [file.text for submission in submissions for file in submission.files]
    packages = {name: name.rpartition(".")[0] for name in _OFTEN_IMPORTED}
    return tuple(name for name, package in packages.items() if any(package in text for text in texts))


def _grade(run: GradingRun, submission: Submission, sandbox: Sandbox) -> SubmissionResult:
    """What a worker does; it has imported what that needs while its sandbox warmed up.

    An error that nobody foresaw costs the submission that met it: else the class would end there at each try.
    """
    from grader.grading.grade_submission import grade_of_class

    try:
        return grade_of_class(run, submission, sandbox)
    except (HanstepError, OSError, EOFError, MemoryError):  # the course's or the machine's, and no student's
        raise
    except Exception as error:
        logging.getLogger(__name__).exception("grading %s", submission.student)
        return _lost(run, submission, f"채점하다가 오류가 났어요: {type(error).__name__}")


def _lost(
    run: GradingRun, submission: Submission, detail: str = "채점하던 프로세스가 두 번 죽었어요"
) -> SubmissionResult:
    """The result of a submission that could not be graded: every exercise in it crashed."""
    from grader.grading.grade_submission import assess_submission

    found = [e.name for e in run.exercises if submission.source_for(e.name) is not None]
    outcomes: Outcomes = {name: Outcome(name, "crashed", None, 0.0, detail) for name in found}
    return assess_submission(run, submission, outcomes)
