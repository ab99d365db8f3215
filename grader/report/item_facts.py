"""Compute what instructors know of the items of a test: difficulty, discrimination, frequent pairs of mistakes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import StatisticsError, correlation, fmean

from grader.course.feedback import SubmissionResult
from grader.report import words
from grader.report.class_facts import tried

_FEWEST = 10
"""Number of students below which a correlation says nothing."""


@dataclass(frozen=True)
class ItemFacts:
    """Statistics of one exercise over the students who wrote an answer to it."""

    students: int
    difficulty: float
    """Mean share of the points that they got, from 0 (nobody anything) to 1."""
    discrimination: float | None
    """Correlation of the points in this exercise with those in all others, from -1 to 1; None if it says nothing."""


def item_facts(submissions: Sequence[SubmissionResult]) -> dict[str, ItemFacts]:
    """Return the statistics by exercise, of those that anybody tried."""
    shares: dict[str, list[tuple[float, float]]] = {}
    for submission in submissions:
        for feedback in filter(tried, submission.feedbacks):
            if feedback.max_score:
                rest = submission.score - feedback.score
                shares.setdefault(feedback.exercise, []).append((feedback.score / feedback.max_score, rest))
    return {
        exercise: ItemFacts(len(pairs), fmean(own for own, _ in pairs), _discrimination(pairs))
        for exercise, pairs in shares.items()
    }


def _discrimination(pairs: Sequence[tuple[float, float]]) -> float | None:
    if len(pairs) < _FEWEST:
        return None
    try:
        return correlation([own for own, _ in pairs], [rest for _, rest in pairs])
    except StatisticsError:  # all students got the same
        return None


@dataclass(frozen=True)
class PairCount:
    """Number of students who made two mistakes in one exercise."""

    exercise: str
    titles: tuple[str, str]
    students: int


def frequent_pairs(submissions: Sequence[SubmissionResult], most: int) -> list[PairCount]:
    """Return the pairs of named mistakes that several students made in one exercise, the most frequent first."""
    counts: Counter[tuple[str, str, str]] = Counter()
    titles: dict[str, str] = {}
    for feedback in (f for s in submissions for f in s.feedbacks if tried(f)):
        named = {mistake.id: words.either(mistake) for mistake in feedback.diagnosis.mistakes}
        titles |= named
        counts.update((feedback.exercise, *pair) for pair in combinations(sorted(named), 2))
    frequent = ((key, number) for key, number in counts.most_common() if number > 1)
    found = [PairCount(key[0], (titles[key[1]], titles[key[2]]), number) for key, number in frequent]
    return found[:most]
