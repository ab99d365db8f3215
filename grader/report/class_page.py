"""Draw `index.html`, the class page: a single file that loads no other and runs no script but its own."""

from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from hashlib import sha256
from urllib.parse import quote

from markupsafe import Markup

from grader.course.course import Course
from grader.course.feedback import ClassResult, Feedback, Status, SubmissionResult
from grader.report import words
from grader.report.class_facts import (
    LessonFacts,
    ScoreBin,
    also_stuck,
    answered,
    count_mistakes,
    count_raised,
    exercises_of,
    feedback_to_read_first,
    hardest_first,
    lessons_of,
    only_extras,
    reteach,
    score_bins,
    settled_by_hand,
    tried,
    without_dropped,
)
from grader.report.class_scores import scores_of, sections_of
from grader.report.html import TEMPLATES, page
from grader.report.item_facts import frequent_pairs, item_facts
from grader.report.mistake_map import LessonMap, mistake_maps
from grader.report.plain_text import points
from grader.report.regraded import fallen

_ROWS_SHOWN = 8
"""Rows of a list or a map shown at once; the rest is folded."""
_NAMES_SHOWN = 100
"""Maximum students listed by name at one cell of the map; the table lists all."""
_STUDENTS_SHOWN = 200
"""Table rows that the page's script shows at once."""
_STUDENTS_ON_A_PHONE = 25
"""The same on a phone; index.css has this number too."""
_PAIRS_SHOWN = 8

_UNMATCHED = "unmatched"
_KINDS: dict[str, tuple[str, Callable[[SubmissionResult], bool]]] = {
    "passed": ("모두 통과한 학생", lambda s: s.passed),
    "open": ("통과하지 못한 답안이 있는 학생", lambda s: any(tried(f) and f.status != "passed" for f in s.feedbacks)),
    "raised": ("코드에서 예외가 난 학생", lambda s: any(f.begun and f.status == "error" for f in s.feedbacks)),
    "halted": ("코드가 끝까지 실행되지 않은 학생", lambda s: any(f.status in _HALTED for f in s.feedbacks)),
    "unreadable": ("읽을 수 없는 파일을 낸 학생", lambda s: any(f.status == "unreadable" for f in s.feedbacks)),
    "fallen": ("다시 채점해서 점수가 내려간 학생", lambda s: bool(fallen(s))),
    "regraded": ("다시 채점한 학생", lambda s: s.regraded is not None),
    "renamed": ("연습 문제와 이름이 다른 함수를 낸 학생", lambda s: any(f.other_name for f in s.feedbacks)),
    "extras": ("점수에 들지 않는 과제만 낸 학생", lambda s: bool(only_extras(s))),
    "nothing": ("답안을 내지 않은 학생", lambda s: not answered(s) and not s.extras),
    "scrutiny": ("직접 살펴볼 코드가 있는 학생", lambda s: bool(s.scrutiny)),
    _UNMATCHED: ("명단과 짝짓지 못한 학생", lambda s: bool(s.unmatched)),
}  # fmt: skip
"""Filters for the student table, besides mistakes: key → label and condition."""
_HALTED: tuple[Status, ...] = ("timeout", "memory", "crashed", "output")
_LOOK_FIRST = ("fallen", "renamed", "halted", "extras", "nothing")


@dataclass(frozen=True)
class _Student:
    """One row of the student table."""

    result: SubmissionResult
    page: str
    """Relative address of the student's page."""
    lessons: tuple[tuple[str, Markup], ...]
    """Score (`14/48`) and status signs, one pair per lesson that somebody began."""
    first: Feedback | None
    """Feedback to read first; None if every exercise passed."""
    extras: tuple[Feedback, ...]
    """Warm-ups and bonus tasks, if the student handed in nothing else."""
    cells: str
    """Keys of the map's cells that contain the student, separated by spaces."""
    kinds: str
    """Keys of `_KINDS` that apply to the student, separated by spaces."""
    coded: frozenset[str]
    """Exercises whose whole answer stands on the student's page."""
    section: int | None
    """Key of the student's section; None if there are no sections to compare."""


def class_page(result: ClassResult, course: Course, names: Sequence[str], when: datetime) -> str:
    """Return the HTML of the class page.

    Args:
        result: the graded class.
        course: gives the order and the titles of lessons and exercises.
        names: file name of each student's page in `feedback/`, without suffix, in the order of the submissions.
        when: time shown on the page.
    """
    result = without_dropped(result)
    everybody, names = _counted_first(result.submissions, names)
    submissions = result.counted
    exercises = exercises_of(submissions, course)
    lessons = lessons_of(exercises, course)
    begun = [lesson for lesson in lessons if lesson.begun]
    possible = sum(lesson.points for lesson in begun)
    maps = mistake_maps(submissions, begun)
    mistakes, raised = count_mistakes(submissions), count_raised(submissions)
    sections = sections_of(result)
    students = _students(everybody, names, begun, maps, {one.name: one.key for one in sections})
    measured = scores_of(everybody, result.absent, final=False)
    whole = all(score == int(score) for score in measured.values)
    statuses = Counter(f.status if f.begun else "missing" for s in submissions for f in s.feedbacks)
    numbers = Counter(key for student in students for key in student.kinds.split())
    script = _script()
    return page(
        "index.html.j2",
        course=course,
        result=result,
        when=when.strftime("%Y-%m-%d %H:%M"),
        students=students,
        counted=len(submissions),
        unmatched=[student for student in students if student.result.unmatched],
        scores=scores_of(everybody, result.absent),
        measured=measured,
        sections=sections,
        items=item_facts(submissions),
        pairs=frequent_pairs(submissions, _PAIRS_SHOWN),
        reteach=reteach(mistakes, exercises, raised),
        also_stuck=also_stuck(mistakes, raised),
        lessons=begun,
        folded=[lesson for lesson in lessons if not lesson.begun],
        maps=maps,
        names_shown=_NAMES_SHOWN,
        students_shown=_STUDENTS_SHOWN,
        students_on_a_phone=_STUDENTS_ON_A_PHONE,
        rows_shown=_ROWS_SHOWN,
        bins=[(_bin_label(b, whole=whole), b) for b in score_bins(measured.values, possible)],
        possible=possible,
        hardest=hardest_first(exercises),
        worst=_most_frequent(maps),
        kinds=[(key, label, numbers[key]) for key, (label, _) in _KINDS.items() if numbers[key]],
        settled=settled_by_hand(result),
        queue=[student for student in students if student.result.is_ungraded],
        fallen=fallen,
        halted=_HALTED,
        look_first=[
            (key, _KINDS[key][0], [s for s in students if key in s.kinds.split()]) for key in _LOOK_FIRST
        ],
        stopped=[(status, statuses[status]) for status in words.STATUS_NAMES if status in statuses],
        script=script,
        script_hash=_script_hash(script),
    )


def _counted_first(
    submissions: Sequence[SubmissionResult], names: Sequence[str]
) -> tuple[list[SubmissionResult], list[str]]:
    """Return submissions and file names with those at the end that statistics leave out: the map counts by index."""
    order = sorted(range(len(submissions)), key=lambda index: bool(submissions[index].unmatched))
    return [submissions[index] for index in order], [names[index] for index in order]


def _students(
    submissions: Sequence[SubmissionResult],
    names: Sequence[str],
    lessons: Sequence[LessonFacts],
    maps: Sequence[LessonMap],
    sections: Mapping[str, int],
) -> list[_Student]:
    cells: dict[int, list[int]] = {}
    for lesson_map in maps:
        for row in (*lesson_map.named, *lesson_map.others):
            for cell in row.cells.values():
                for sighting in cell.sightings:
                    cells.setdefault(sighting.student, []).append(cell.key)
    return [
        _Student(
            result=submission,
            page=f"feedback/{quote(name)}.html",
            lessons=tuple(_lesson_cells(submission, lessons)),
            first=feedback_to_read_first(submission),
            extras=only_extras(submission),
            cells=" ".join(map(str, cells.get(index, ()))),
            kinds=_kinds(submission),
            coded=frozenset(f.exercise for f in submission.feedbacks if f.code),
            section=sections.get(submission.person.section) if submission.person else None,
        )
        for index, (submission, name) in enumerate(zip(submissions, names, strict=True))
    ]


def _kinds(submission: SubmissionResult) -> str:
    """Return the keys of the filters that apply; of what is nobody's in the class, no other ones count."""
    if submission.unmatched:
        return _UNMATCHED
    return " ".join(key for key, (_, holds) in _KINDS.items() if holds(submission))


def _lesson_cells(
    submission: SubmissionResult, lessons: Sequence[LessonFacts]
) -> Iterator[tuple[str, Markup]]:
    by_name = {f.exercise: f for f in submission.feedbacks}
    for lesson in lessons:
        own = [by_name.get(e.name) for e in lesson.exercises]
        score, most = (sum(getattr(f, part) for f in own if f is not None) for part in ("score", "max_score"))
        statuses = tuple("missing" if f is None or not f.begun else f.status for f in own)
        is_unread = own and all(status == "unreadable" for status in statuses)
        yield "—" if is_unread else f"{points(score)}/{points(most)}", _marks(statuses)


@cache
def _marks(statuses: tuple[Status, ...]) -> Markup:
    """Return one sign per exercise and, for screen readers, the number of exercises with each status."""
    boxes = Markup().join(
        Markup('<i class="{}">{}</i>').format(status, words.MARKS[status]) for status in statuses
    )
    in_words = ", ".join(f"{words.STATUS_NAMES[status]} {n}" for status, n in Counter(statuses).items())
    return Markup('<span class="marks" aria-hidden="true">{}</span><span class="unseen">{}</span>').format(
        boxes, in_words
    )


def _most_frequent(maps: Sequence[LessonMap]) -> dict[str, tuple[str, int]]:
    """Return each exercise's most frequent named mistake: title and number of students."""
    found: dict[str, tuple[str, int]] = {}
    for row in (row for lesson_map in maps for row in lesson_map.named):
        for name, cell in row.cells.items():
            if len(cell.sightings) > found.get(name, ("", 0))[1]:
                found[name] = cell.title, len(cell.sightings)
    return found


def _bin_label(score_bin: ScoreBin, *, whole: bool) -> str:
    """Return the label of a bin, as in `10–19점`; `whole` means that every score is a whole number."""
    low, high = score_bin.low, score_bin.high
    if score_bin.last:
        return f"{points(low)}–{points(high)}점"
    if not whole or high != int(high):
        return f"{points(low)}–{points(high)}점 미만"
    return f"{points(low)}–{points(high - 1)}점" if high - low > 1 else f"{points(low)}점"


@cache
def _script() -> Markup:
    """Return the page's own script, which sorts, searches and filters the table; the page can be read without it."""
    return Markup((TEMPLATES / "index.js").read_text(encoding="utf-8"))


def _script_hash(script: str) -> str:
    """Return the hash with which the page's content security policy allows this script and no other."""
    return f"sha256-{b64encode(sha256(script.encode('utf-8')).digest()).decode('ascii')}"
