"""Text edits of the solution -> programs that make known mistakes."""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, permutations

from grader.course.course import CourseError, Edits, Exercise, Mistake
from grader.course.reading import load_course
from grader.observe.wording import ordinal
from grader.submission.submission import read_submission

_ORDERS_OF = 3  # up to six orders are tried


@dataclass(frozen=True)
class Way:
    """One way to make one known mistake."""

    mistake: Mistake
    number: int
    """Which of the mistake's ways, from 0 (the usual one)."""

    @property
    def name(self) -> str:
        """As `behaviours.json` says it: `no-division`, `no-division/2`."""
        return f"{self.mistake.id}/{self.number}" if self.number else self.mistake.id

    @property
    def edits(self) -> Edits:
        """What it changes in the solution."""
        return self.mistake.programs[self.number]


@cache
def solution_text(lesson: str) -> str:
    """The lesson's solution as one program text, read by the same reader as a submission."""
    course = load_course()
    path = course.lesson(lesson).solution
    submission = read_submission(path, tuple(course.exercises))
    if submission.unreadable or not submission.files or submission.files[0].problems:
        raise CourseError(f"{path}: 해답을 읽을 수 없어요: {submission.unreadable or submission.files}")
    return submission.files[0].text


@cache
def program_text(lesson: str) -> str:
    """The solution's text without the imports that no exercise can reach, lines where they were.

    What a lesson imports for its plots and data takes a second, and no exercise needs it.
    """
    text = solution_text(lesson)
    body = _statements(lesson)
    reached = _names_reached(body, load_course().lesson(lesson).exercises)
    lines = text.split("\n")
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound = {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
            if not bound & reached and "*" not in bound:
                lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or 0) - node.lineno + 1)
    return "\n".join(lines)


def _names_reached(body: Sequence[ast.stmt], exercises: Sequence[Exercise]) -> set[str]:
    """Names in the exercises' code, in what their mistakes put into it, and in whatever these names stand for."""
    uses = {name: _names_in(node) for node in body for name in _names_defined(node)}
    edits = (new for exercise in exercises for way in ways(exercise) for _, new in way.edits)
    fresh = {exercise.name for exercise in exercises}.union(*(re.findall(r"\w+", new) for new in edits))
    reached: set[str] = set()
    while fresh:
        reached |= fresh
        fresh = set[str]().union(*(uses.get(name, ()) for name in fresh)) - reached
    return reached


def _names_defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    return [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def _names_in(node: ast.stmt) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def exercise_source(exercise: Exercise) -> str:
    """Source of the exercise's function or class in the solution, decorators included."""
    return _definition(exercise.lesson, exercise.name)


@cache
def _definition(lesson: str, name: str) -> str:
    for node in reversed(_statements(lesson)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            lines = solution_text(lesson).split("\n")[first - 1 : node.end_lineno]
            return "".join(f"{line}\n" for line in lines)
    raise CourseError(f"해답에 `{name}` 정의가 없어요")


@cache
def _statements(lesson: str) -> Sequence[ast.stmt]:
    return ast.parse(solution_text(lesson)).body


def apply_edits(source: str, edits: Edits, owner: str) -> str | None:
    """The source with all edits made at once; None when two of them overlap.

    Raises:
        CourseError: an old text does not stand exactly once in the source.
    """
    spans = []
    for old, new in edits:
        if source.count(old) != 1:
            raise CourseError(
                f"{owner}: 바꿀 글이 정답에 {source.count(old)}번 있어요. 꼭 한 번 있는 글로 바꿔 주세요: {old!r}"
            )
        start = source.index(old)
        spans.append((start, start + len(old), new))
    spans.sort()
    if any(left[1] > right[0] for left, right in pairwise(spans)):
        return None
    for start, end, new in reversed(spans):
        source = source[:start] + new + source[end:]
    return source


def ways(exercise: Exercise) -> list[Way]:
    """Every way to make every known mistake, in the order of the course file."""
    return [Way(m, number) for m in exercise.mistakes for number in range(len(m.programs))]


def program_of(exercise: Exercise, way: Way) -> str:
    """The exercise's source with one mistake made in one way.

    Raises:
        CourseError: the course file's edits do not fit the solution.
    """
    which = f"variants의 {ordinal(way.number)}" if way.number else "edits"
    owner = f"{exercise.name}.toml: 실수 '{way.mistake.id}'의 {which}"
    edited = apply_edits(exercise_source(exercise), way.edits, owner)
    if edited is None:
        raise CourseError(f"{owner}: 고치는 곳이 서로 겹쳐요. 하나로 합쳐 주세요.")
    return edited


def program_of_all(exercise: Exercise, together: Sequence[Way]) -> str | None:
    """The exercise's source with all these mistakes made at once; None when that is no program.

    Edits that touch the same text are made one after the other, in the first order in which each finds its place.
    """
    source = exercise_source(exercise)
    edits = tuple(dict.fromkeys(edit for way in together for edit in way.edits))
    edited = apply_edits(source, edits, exercise.name)
    orders = permutations(together) if len(together) <= _ORDERS_OF else [together, together[::-1]]
    for order in orders:
        if edited is not None:
            break
        edited = _one_after_the_other(source, order)
    return edited if edited is not None and _parses(edited) else None


def _one_after_the_other(source: str, order: Sequence[Way]) -> str | None:
    for way in order:
        if any(source.count(old) != 1 for old, _ in way.edits):
            return None
        edited = apply_edits(source, way.edits, way.name)
        if edited is None:
            return None
        source = edited
    return source


def _parses(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True
