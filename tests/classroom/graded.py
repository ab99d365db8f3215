"""A class's results together, which the grader hands out one by one."""

from collections import deque
from collections.abc import Callable, Sequence

from grader.classroom.grade_class import grade_class
from grader.course.feedback import SubmissionResult
from grader.grading.grading_run import GradingRun
from grader.submission.submission import Submission


def graded(
    run: GradingRun,
    submissions: Sequence[Submission],
    finished: Callable[[SubmissionResult], None] | None = None,
) -> list[SubmissionResult]:
    """The results in the order of the submissions; each is told to `finished` when it comes."""
    found: dict[str, SubmissionResult] = {}

    def keep(result: SubmissionResult) -> None:
        found[result.student] = result
        if finished is not None:
            finished(result)

    grade_class(run, deque(submissions), keep)
    return [found[submission.student] for submission in submissions]
