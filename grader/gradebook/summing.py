"""Drop exercises that do not count, and sum the others."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from grader.course.marks import ExerciseMark
from grader.gradebook.policy import Policy


def without_dropped(
    exercises: Sequence[ExerciseMark], policy: Policy
) -> tuple[list[ExerciseMark], list[str]]:
    """Mark the dropped exercises; return all exercises, and the names of the dropped ones."""
    out = {e.exercise for e in exercises if e.dropped or e.exercise in policy.drop.exercises}
    left = [e for e in exercises if e.exercise not in out and e.max_score > 0]
    # At least one exercise stays. Of equally bad ones drop the one worth most: that is best for the student.
    worst = sorted(left, key=lambda e: (e.score / e.max_score, -e.max_score))
    lowest = worst[: min(policy.drop.lowest, max(0, len(left) - 1))]
    out |= {e.exercise for e in lowest}
    marked = [replace(e, dropped=True) if e.exercise in out else e for e in exercises]
    return marked, [e.exercise for e in marked if e.dropped]


def summed(
    exercises: Sequence[ExerciseMark], lesson_of: Mapping[str, str], policy: Policy
) -> tuple[float, float]:
    """Return score and full mark; with weights, each lesson's fraction counts by its weight."""
    if not policy.weights:
        return sum(e.score for e in exercises), sum(e.max_score for e in exercises)
    score = full = 0.0
    for lesson in dict.fromkeys(lesson_of[e.exercise] for e in exercises):
        own = [e for e in exercises if lesson_of[e.exercise] == lesson]
        most = sum(e.max_score for e in own)
        if most > 0:
            full += policy.weights[lesson]
            score += policy.weights[lesson] * sum(e.score for e in own) / most
    return score, full
