"""Word what grading a student again has changed."""

from grader.course.feedback import SubmissionResult
from grader.report.plain_text import points

_SAME = 1e-6
"""Difference of points below which two scores are equal."""


def regrade_told(submission: SubmissionResult) -> str:
    """Return a Korean line on a student who was graded again, with each score that changed; empty if there is none."""
    if submission.regraded is None:
        return ""
    what = "다시 낸 답을 채점한 결과예요." if submission.regraded.handed_in_again else "다시 채점한 결과예요."
    changes = [
        f"{exercise} {'읽지 못함' if before is None else points(before)} → {points(now)}점"
        for exercise, before, now in _changes(submission)
    ]
    return (
        f"{what} 채점기의 점수가 달라진 연습: {', '.join(changes)}."
        if changes
        else f"{what} 점수는 전과 같아요."
    )


def fallen(submission: SubmissionResult) -> list[str]:
    """Return the exercises whose measured points are lower than before, as `train_step 4 → 1점`."""
    return [
        f"{exercise} {points(before)} → {points(now)}점"
        for exercise, before, now in _changes(submission)
        if before is not None and now < before
    ]


def _changes(submission: SubmissionResult) -> list[tuple[str, float | None, float]]:
    """Return (exercise, points before, points now) wherever both differ and the exercise could be read now."""
    before = {} if submission.regraded is None else {one.exercise: one for one in submission.regraded.before}
    return [
        (f.exercise, before[f.exercise].score, f.score)
        for f in submission.feedbacks
        if f.exercise in before and f.status != "unreadable" and _differ(before[f.exercise].score, f.score)
    ]


def _differ(before: float | None, now: float) -> bool:
    return before is None or abs(before - now) > _SAME
