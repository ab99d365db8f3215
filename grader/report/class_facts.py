"""Count what the results of a class show: mistakes, exercises, scores.

The terminal's table (`class_table`) and the class page (`class_page`) both show these numbers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, log10
from typing import Literal

from grader.course.course import Course
from grader.course.feedback import ClassResult, Feedback, SubmissionResult
from grader.report import words

SYNTAX_ERROR = "문법 오류"
"""What stands for the name of an exception, for code that does not parse."""
_BINS = 10
"""Maximum number of bins in the histogram of scores."""


def tried(feedback: Feedback) -> bool:
    """Return True if there is an answer to judge: present, readable, and not the untouched starter."""
    return feedback.begun and feedback.status not in ("missing", "unreadable")


def answered(submission: SubmissionResult) -> bool:
    """Return True if the student wrote an answer to an exercise that counts, or if a file cannot be read."""
    return any(tried(f) or f.status == "unreadable" for f in submission.feedbacks)


def is_unread(submission: SubmissionResult) -> bool:
    """Return True if nothing of a submission could be graded because it could not be read: it has no score yet."""
    return submission.is_ungraded and not any(map(tried, submission.feedbacks))


def settled_by_hand(result: ClassResult) -> int:
    """Return how many of the submissions that could not be read have a mark all the same."""
    return len(result.ungraded) - len(result.without_mark)


def without_dropped(result: ClassResult) -> ClassResult:
    """Return the results without the exercises that the policy drops for everybody: nobody is asked about them."""
    dropped = [
        {mark.exercise for mark in s.mark.exercises if mark.dropped}
        for s in result.submissions
        if s.mark is not None and s.mark.exercises
    ]
    nobodys = set.intersection(*dropped) if dropped else set()
    submissions = tuple(
        replace(s, feedbacks=tuple(f for f in s.feedbacks if f.exercise not in nobodys))
        for s in result.submissions
    )
    return replace(result, submissions=submissions) if any(s.feedbacks for s in submissions) else result


def only_extras(submission: SubmissionResult) -> tuple[Feedback, ...]:
    """Return the warm-ups and bonus tasks of a student who handed in nothing else; empty for any other student."""
    return () if answered(submission) else submission.extras


# ---- mistakes -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MistakeCount:
    """Number of students who made one mistake."""

    id: str
    """Id as in results.json; empty for behaviour that no listed mistake explains."""
    title: str
    students: int
    exercises: tuple[str, ...]
    tried: int
    """Number of students who tried any of these exercises."""


def count_mistakes(submissions: Sequence[SubmissionResult]) -> list[MistakeCount]:
    """Count the mistakes of a class; each student counts once per mistake.

    Sorted by number of students, descending; unnamed mistakes come last. Of mistakes that are equally frequent, the one
    made by the larger share of the students who tried its exercises comes first.
    """
    titles: dict[str, str] = {}
    students: dict[str, set[int]] = {}
    exercises: dict[str, dict[str, None]] = {}
    tries: dict[str, set[int]] = {}
    for index, submission in enumerate(submissions):
        for feedback in submission.feedbacks:
            if tried(feedback):
                tries.setdefault(feedback.exercise, set()).add(index)
            named = [(n.id, words.either(n)) for n in feedback.diagnosis.mistakes]
            if feedback.status == "failed" and feedback.begun and not named:
                named = [("", words.UNNAMED)]
            for key, title in named:
                titles.setdefault(key, title)
                students.setdefault(key, set()).add(index)
                exercises.setdefault(key, {})[feedback.exercise] = None
    found = []
    for key, title in titles.items():
        could = set[int]().union(*(tries.get(name, ()) for name in exercises[key]))
        found.append(MistakeCount(key, title, len(students[key]), tuple(exercises[key]), len(could)))
    return sorted(found, key=lambda m: (m.id == "", -m.students, m.tried, m.id))


def feedback_to_read_first(submission: SubmissionResult) -> Feedback | None:
    """Return the feedback to read first; None if every exercise passed.

    A feedback with a named mistake is preferred, then one on code that ran, then one in a lesson that the student has
    begun. Ties go to the earliest.
    """
    open_ones = [f for f in submission.feedbacks if f.status != "passed"]
    begun = {f.lesson for f in submission.feedbacks if f.status != "missing"}

    def weight(feedback: Feedback) -> tuple[bool, bool, bool]:
        ran = feedback.status not in ("missing", "unreadable")
        return bool(feedback.diagnosis.mistakes), ran, feedback.lesson in begun

    return max(open_ones, key=weight, default=None)


# ---- exercises ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExerciseFacts:
    """Results of one exercise over the class; the four counts add up to the students who should have done it."""

    name: str
    title: str
    lesson: str
    points: float
    passed: int
    partly: int
    """Students who did not pass but got points."""
    nothing: int
    """Students who tried and got no points."""
    untried: int
    minutes: int | None = None
    """Estimated minutes to solve it; None if the course says nothing."""

    @property
    def tried(self) -> int:
        """Number of students who wrote an answer."""
        return self.passed + self.partly + self.nothing

    @property
    def share(self) -> float:
        """Fraction of those who tried that passed; 0 if nobody tried."""
        return self.passed / self.tried if self.tried else 0.0


def exercises_of(submissions: Sequence[SubmissionResult], course: Course) -> list[ExerciseFacts]:
    """Return the graded exercises in the course's order; those that the course no longer has come last."""
    found: dict[str, list[Feedback]] = {}
    for submission in submissions:
        for feedback in submission.feedbacks:
            found.setdefault(feedback.exercise, []).append(feedback)
    order = [name for name in course.exercises if name in found]
    order += [name for name in found if name not in course.exercises]
    known = course.exercises
    return [_exercise(name, found[name], known[name].minutes if name in known else None) for name in order]


def _exercise(name: str, feedbacks: Sequence[Feedback], minutes: int | None) -> ExerciseFacts:
    passed = sum(f.status == "passed" for f in feedbacks)
    partly = sum(f.status != "passed" and f.score > 0 for f in feedbacks)
    untried = sum(not tried(f) for f in feedbacks)
    first = feedbacks[0]
    nothing = len(feedbacks) - passed - partly - untried
    return ExerciseFacts(
        name, first.title, first.lesson, first.max_score, passed, partly, nothing, untried, minutes
    )


def hardest_first(exercises: Iterable[ExerciseFacts]) -> list[ExerciseFacts]:
    """Return the exercises that anybody tried, the one with the smallest share of passes first."""
    return sorted((e for e in exercises if e.tried), key=lambda e: (e.share, -e.tried))


@dataclass(frozen=True)
class LessonFacts:
    """The graded exercises of one lesson."""

    id: str
    title: str
    """Empty if the course no longer has the lesson."""
    exercises: tuple[ExerciseFacts, ...]

    @property
    def begun(self) -> bool:
        """True if any student tried any of its exercises."""
        return any(e.tried for e in self.exercises)

    @property
    def points(self) -> float:
        """Points of all its exercises together."""
        return sum(e.points for e in self.exercises)


def lessons_of(exercises: Sequence[ExerciseFacts], course: Course) -> list[LessonFacts]:
    """Group exercises by lesson, in the order in which the lessons first occur."""
    titles = {lesson.id: lesson.title for lesson in course.lessons}
    by_lesson: dict[str, list[ExerciseFacts]] = {}
    for exercise in exercises:
        by_lesson.setdefault(exercise.lesson, []).append(exercise)
    return [LessonFacts(key, titles.get(key, ""), tuple(own)) for key, own in by_lesson.items()]


# ---- scores -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScoreBin:
    """Number of students whose score is at least `low` and below `high` (in the last bin: at most `high`)."""

    low: float
    high: float
    students: int
    last: bool


def score_bins(scores: Sequence[float], most: float) -> list[ScoreBin]:
    """Return a histogram of scores from 0 to `most`: at most ten bins whose width is a round number."""
    if most <= 0:
        return []
    step = _round_step(most / _BINS)
    number = ceil(most / step)
    counts = [0] * number
    for score in scores:
        counts[min(floor(score / step), number - 1)] += 1
    return [
        ScoreBin(i * step, min((i + 1) * step, most), count, i == number - 1)
        for i, count in enumerate(counts)
    ]


def _round_step(least: float) -> float:
    """Return the smallest of …, 1, 2, 5, 10, 20, 50, … that is at least `least`."""
    power = 10.0 ** floor(log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)


# ---- what to teach again ------------------------------------------------------------------------------


@dataclass(frozen=True)
class RaisedCount:
    """Number of students whose code raised an exception."""

    students: int
    tried: int
    """Number of students who wrote an answer."""
    exercise: str
    kind: str
    """Type of the most frequent exception, and its exercise."""
    most: int
    """Number of students with this exception there."""


def count_raised(submissions: Sequence[SubmissionResult]) -> RaisedCount | None:
    """Count the students whose code raised an exception; None if there is none."""
    places: dict[tuple[str, str], set[int]] = {}
    answering = set[int]()
    for index, submission in enumerate(submissions):
        for feedback in filter(tried, submission.feedbacks):
            answering.add(index)
            if feedback.status == "error":
                kind = (feedback.error or "").partition(":")[0] or SYNTAX_ERROR
                places.setdefault((feedback.exercise, kind), set()).add(index)
    if not places:
        return None
    (exercise, kind), most = max(places.items(), key=lambda item: len(item[1]))
    return RaisedCount(len(set().union(*places.values())), len(answering), exercise, kind, len(most))


def also_stuck(mistakes: Sequence[MistakeCount], raised: RaisedCount | None) -> str:
    """Return a line that counts those whom no named mistake describes; empty if `reteach` tells of all of them."""
    parts = (
        ("raised", raised.students if raised else 0, "코드에서 예외가 난 학생"),
        ("unnamed", _unnamed_students(mistakes), "목록에 없는 방식으로 틀린 학생"),
    )
    subject = _subject(mistakes, raised)
    told = [f"{what} {number}명" for key, number, what in parts if number and key != subject]
    return f"{', '.join(told)}도 있어요." if told else ""


def _unnamed_students(mistakes: Sequence[MistakeCount]) -> int:
    return next((mistake.students for mistake in mistakes if not mistake.id), 0)


def _subject(
    mistakes: Sequence[MistakeCount], raised: RaisedCount | None
) -> Literal["raised", "unnamed", "named", ""]:
    """Return what most students have in common; empty if it is nothing of these."""
    named = mistakes[0].students if mistakes and mistakes[0].id else 0
    unnamed = _unnamed_students(mistakes)
    # Exceptions of many kinds are something in common only if most students have one.
    shared = 0 if raised is None else raised.students if 2 * raised.students > raised.tried else raised.most
    if shared > max(1, named, unnamed):
        return "raised"
    if unnamed > max(1, named):
        return "unnamed"
    return "named" if named > 1 else ""


def reteach(
    mistakes: Sequence[MistakeCount], exercises: Sequence[ExerciseFacts], raised: RaisedCount | None = None
) -> str:
    """Return one sentence on what to explain again first; empty if nobody has tried anything.

    It is about what most students have in common: a named mistake, an exception, or else an exercise.
    """
    hardest = hardest_first(exercises)
    if not hardest:
        return ""
    subject = _subject(mistakes, raised)
    unnamed = next((mistake for mistake in mistakes if not mistake.id), None)
    if raised and subject == "raised":
        return (
            f"답안을 쓴 {raised.tried}명 가운데 {raised.students}명의 코드에서 예외가 났어요. "
            f"가장 많은 `{raised.exercise}`({raised.kind}, {raised.most}명)부터 다시 설명해 보세요."
        )
    if unnamed and subject == "unnamed":
        where = ", ".join(f"`{e.name}`" for e in exercises if e.name in unnamed.exercises)
        if len(unnamed.exercises) > 3:
            where = f"연습 문제 {len(unnamed.exercises)}개"
        return (
            f"{where}의 답안을 쓴 {unnamed.tried}명 가운데 {unnamed.students}명이 목록에 없는 방식으로 틀렸어요. "
            "아래 실수 지도에서 그 코드부터 살펴보세요."
        )
    if subject == "named":
        most = mistakes[0]
        where = ", ".join(f"`{e.name}`" for e in exercises if e.name in most.exercises)
        if len(most.exercises) > 3:
            where = f"연습 문제 {len(most.exercises)}개"
        return (
            f"{where}의 답안을 쓴 {most.tried}명 가운데 {most.students}명이 한 실수인 "
            f"‘{most.title}’부터 다시 설명해 보세요."
        )
    failing = max(hardest, key=lambda e: e.tried - e.passed)
    if failing.tried - failing.passed > 1:
        return (
            f"답안을 쓴 {failing.tried}명 가운데 {failing.tried - failing.passed}명이 통과하지 못한 "
            f"`{failing.name}`부터 다시 설명해 보세요."
        )
    return "여러 명이 함께 막힌 곳은 없으니, 학생마다 피드백을 보내 주면 돼요."
