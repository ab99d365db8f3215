"""Grade a class: hand each submission to a worker that runs and judges it, and pass results on as they come.

This process itself runs and judges nothing. So it does not import torch and is ready at once.
"""

import logging
from collections import deque
from collections.abc import Callable, Collection, Generator
from contextlib import closing
from dataclasses import replace

from grader.base.errors import HanstepError
from grader.classroom.workers import results_from_workers
from grader.course.feedback import SubmissionResult
from grader.grading.grading_run import GradingRun
from grader.grading.run_submission import Outcomes
from grader.sandbox.sandbox import Outcome, Sandbox
from grader.submission.submission import Submission

MAX_SEED = 2**31 - 1
_OFTEN_IMPORTED = ("matplotlib.pyplot", "sklearn.datasets", "torch.utils.data")
"""Modules that notebooks of this course often import, which takes up to a second each. Only these are imported in
advance: a submission must not be able to choose what is loaded in the server from which the next one is forked."""


def grade_class(
    run: GradingRun, submissions: deque[Submission], finished: Callable[[SubmissionResult], None]
) -> None:
    """Grade every submission and pass each result to `finished`, in the order in which they end.

    `run.jobs` processes, here or on a Ray cluster, each run the students' code in a sandbox of their own and judge it.
    They are processes and not threads, because playing the solution and the mistakes uses torch's process-wide state.

    Args:
        run: settings of the grading.
        submissions: the submissions; emptied on the way. Neither they nor the results are kept.
        finished: called with each result.

    Raises:
        SandboxUnavailable: the requested isolation is not available.
        WorkerDied: worker processes do not even start.
        ClusterError: the Ray cluster cannot be reached, or lost a machine too often.
    """
    run = replace(run, preimports=_modules_to_preimport(submissions))
    with closing(_results(run, submissions)) as coming:
        for submission, result in coming:
            finished(result or _crashed_result(run, submission))


def _results(
    run: GradingRun, submissions: deque[Submission]
) -> Generator[tuple[Submission, SubmissionResult | None]]:
    """Yield every submission with its result, from workers here or on the Ray cluster; None: it could not be graded."""
    if run.ray is None or not submissions:
        yield from results_from_workers(run, submissions, _grade)
    else:
        from grader.classroom.cluster import results_from_cluster

        yield from results_from_cluster(run, submissions, _grade)


def _modules_to_preimport(submissions: Collection[Submission]) -> tuple[str, ...]:
    """Return those of `_OFTEN_IMPORTED` whose package a submission mentions."""
    texts = [file.text for submission in submissions for file in submission.files]
    packages = {name: name.rpartition(".")[0] for name in _OFTEN_IMPORTED}
    return tuple(name for name, package in packages.items() if any(package in text for text in texts))


def _grade(run: GradingRun, submission: Submission, sandbox: Sandbox) -> SubmissionResult:
    """Grade one submission, in a worker, which has imported what this needs while its sandbox warmed up.

    An unforeseen error costs only the submission that caused it. Otherwise grading the class would end at this
    submission at every try.

    Raises:
        HanstepError, OSError, EOFError, MemoryError: the course or the machine is at fault, not the student.
    """
    from grader.grading.grade_submission import grade_in_sandbox

    try:
        return grade_in_sandbox(run, submission, sandbox)
    # A fault of the course or the machine, not of the student
    except (HanstepError, OSError, EOFError, MemoryError):
        raise
    except Exception as error:
        logging.getLogger(__name__).exception("grading %s", submission.student)
        return _crashed_result(run, submission, f"채점하다가 오류가 났어요: {type(error).__name__}")


def _crashed_result(
    run: GradingRun, submission: Submission, detail: str = "채점하던 프로그램이 두 번 갑자기 끝났어요"
) -> SubmissionResult:
    """Return the result of a submission that could not be graded: every exercise in it counts as crashed."""
    from grader.grading.grade_submission import assess_submission

    found = [e.name for e in run.exercises if submission.source_for(e.name) is not None]
    outcomes: Outcomes = {name: Outcome(name, "crashed", None, 0.0, detail) for name in found}
    return assess_submission(run, submission, outcomes)
