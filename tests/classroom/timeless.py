"""Results without what differs from run to run: how long each exercise took."""

from collections.abc import Sequence
from dataclasses import replace

from grader.course.feedback import Feedback, SubmissionResult


def timeless(results: Sequence[SubmissionResult]) -> list[SubmissionResult]:
    """The same results with all seconds at zero."""
    return [
        replace(r, feedbacks=_without_seconds(r.feedbacks), extras=_without_seconds(r.extras))
        for r in results
    ]


def _without_seconds(feedbacks: Sequence[Feedback]) -> tuple[Feedback, ...]:
    return tuple(replace(feedback, seconds=0.0) for feedback in feedbacks)
