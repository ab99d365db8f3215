"""Map a class's mistakes: per lesson, how many students made which mistake in which exercise, and on which line."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from grader.course.feedback import Feedback, SubmissionResult
from grader.report import words
from grader.report.class_facts import LessonFacts, tried
from grader.report.plain_text import one_line

_EXAMPLES = 3
"""Maximum lines quoted for one cell of the map."""
RAISED, STOPPED = "예외가 났어요", "끝까지 실행하지 못했어요"


@dataclass(frozen=True)
class Sighting:
    """One student who made the mistake."""

    student: int
    """Index of the submission in the class, from 0."""
    place: str
    """Place as in `코드 셀 3 · 7번째 줄`; for a program that did not run to its end, the name of its status."""
    line: str
    """The student's line; empty if the mistake is not about a single line."""
    missing: str
    """Korean line on the side of that line on which something is missing; empty if it is the line itself."""


@dataclass(frozen=True)
class MapCell:
    """One mistake in one exercise."""

    key: int
    """Number of the cell, unique in the class."""
    id: str
    """Id as in results.json; empty for what has no name."""
    exercise: str
    title: str
    explain: str
    sightings: tuple[Sighting, ...]

    @property
    def examples(self) -> list[tuple[str, str, int]]:
        """The most frequent lines: [(line, what is missing beside it, number of students), …]."""
        lines = Counter((s.line, s.missing) for s in self.sightings if s.line)
        return [(line, missing, number) for (line, missing), number in lines.most_common(_EXAMPLES)]


@dataclass(frozen=True)
class MapRow:
    """One mistake in all exercises of a lesson."""

    title: str
    students: int
    """Number of students who made it in any of the exercises."""
    cells: dict[str, MapCell]
    """Cells by exercise name."""


@dataclass(frozen=True)
class LessonMap:
    """The mistakes of one lesson, the most frequent first."""

    lesson: LessonFacts
    students: int
    """Number of students who tried any exercise of the lesson."""
    named: tuple[MapRow, ...]
    others: tuple[MapRow, ...]
    """Rows without a mistake's name: unknown behaviour, exceptions, programs that did not run to their end.

    Whoever's code raised is in the row of exceptions, even if a mistake explains it: all counts of exceptions agree."""

    @property
    def most(self) -> int:
        """Largest number of students in any cell; 1 if there is no cell."""
        return max(
            (len(c.sightings) for row in (*self.named, *self.others) for c in row.cells.values()), default=1
        )


@dataclass(frozen=True)
class _Contribution:
    """What one feedback adds to the map: a named mistake, or an outcome without a name."""

    id: str
    title: str
    explain: str
    place: str
    line: str
    missing: str = ""


def mistake_maps(submissions: Sequence[SubmissionResult], lessons: Sequence[LessonFacts]) -> list[LessonMap]:
    """Return one map per lesson; cells are numbered through all of them."""
    keys = count()
    return [_lesson_map(submissions, lesson, keys) for lesson in lessons]


def _lesson_map(
    submissions: Sequence[SubmissionResult], lesson: LessonFacts, keys: Iterator[int]
) -> LessonMap:
    """Collect the rows of one lesson; cells take their numbers from `keys`."""
    found: dict[tuple[str, str], dict[str, list[tuple[int, _Contribution]]]] = {}
    began = set()
    for index, submission in enumerate(submissions):
        for feedback in submission.feedbacks:
            if feedback.lesson != lesson.id or not tried(feedback):
                continue
            began.add(index)
            for seen in _contributions(feedback):
                row = found.setdefault((seen.id, "" if seen.id else seen.title), {})
                row.setdefault(feedback.exercise, []).append((index, seen))
    order = [e.name for e in lesson.exercises]
    rows = {
        key: MapRow(
            title=next(iter(by_exercise.values()))[0][1].title,
            students=len({index for seen in by_exercise.values() for index, _ in seen}),
            cells={
                name: _map_cell(next(keys), name, by_exercise[name]) for name in order if name in by_exercise
            },
        )
        for key, by_exercise in found.items()
    }

    def place(row: MapRow) -> tuple[int, int]:
        return -row.students, order.index(next(iter(row.cells)))

    named, others = (
        tuple(sorted((row for (key, _), row in rows.items() if bool(key) is part), key=place))
        for part in (True, False)
    )
    return LessonMap(lesson, len(began), named, others)


def _map_cell(key: int, exercise: str, found: Sequence[tuple[int, _Contribution]]) -> MapCell:
    first = found[0][1]
    return MapCell(
        key,
        first.id,
        exercise,
        first.title,
        first.explain,
        tuple(Sighting(index, seen.place, seen.line, seen.missing) for index, seen in found),
    )


def _contributions(feedback: Feedback) -> Iterator[_Contribution]:
    """Yield the mistakes that a feedback names, and its outcome if it names none and did not pass, or if it raised."""
    for named in feedback.diagnosis.mistakes:
        line = one_line(named.source_line or "", 200)
        place, missing = words.mistake_place(named), words.missing_beside(named)
        yield _Contribution(named.id, words.either(named), named.explain, place, line, missing)
    if feedback.status == "passed" or (feedback.diagnosis.mistakes and feedback.status != "error"):
        return
    place, line = words.place(feedback), one_line(feedback.source_line or "", 200)
    if feedback.status == "failed":
        title = words.headline(feedback).text
        yield _Contribution("", words.UNNAMED if title == words.DIFFERS else title, "", place, line)
    elif feedback.status == "error":
        # The message on a syntax error begins with the student's own file and line.
        message = feedback.message.partition(f"{words.UNREADABLE_PLACE} ")[2] or feedback.message
        error = one_line(feedback.error or message, 200)
        yield _Contribution("", RAISED, "", place, f"{line}  → {error}" if line else error)
    else:
        yield _Contribution("", STOPPED, "", words.STATUS_NAMES[feedback.status], "")
