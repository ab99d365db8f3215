"""Compare a class with its last grading, so that nobody's points change without a word."""

from dataclasses import replace

from grader.course.feedback import ClassResult, SubmissionResult
from grader.course.marks import EarlierScore, Regrade


def with_regrades(result: ClassResult, before: ClassResult | None) -> ClassResult:
    """Return the class with what the last grading had measured, for the students who were graded anew since.

    Args:
        result: the class as graded now.
        before: the results that stand in the same folder; None if there are none.
    """
    if before is None:
        return result
    known = {submission.student: submission for submission in before.submissions}
    submissions = tuple(
        replace(one, regraded=_regrade(one, known[one.student])) if one.student in known else one
        for one in result.submissions
    )
    return replace(result, submissions=submissions)


def _regrade(now: SubmissionResult, before: SubmissionResult) -> Regrade | None:
    """Return the record of a student's regrade; the one before if neither files nor points have changed since."""
    again = now.digest.partition("-")[0] != before.digest.partition("-")[0]
    if not again and _scores(now) == _scores(before):
        return before.regraded
    best = {} if before.regraded is None else {one.exercise: one.best for one in before.regraded.before}
    there = {feedback.exercise for feedback in now.feedbacks}
    return Regrade(
        again,
        tuple(
            EarlierScore(exercise, score, max(best.get(exercise, 0.0), (score or 0.0) if again else 0.0))
            for exercise, score in _scores(before).items()
            if exercise in there
        ),
    )


def _scores(submission: SubmissionResult) -> dict[str, float | None]:
    """Return the points by exercise; None for what could not be read."""
    return {f.exercise: None if f.status == "unreadable" else f.score for f in submission.feedbacks}
