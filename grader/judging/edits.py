"""Text edits of the solution -> programs that make one known mistake, or two at once."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations, pairwise, product

from grader.course import CourseError, Edits, Exercise, Mistake
from grader.course_files import load_course
from grader.submission.submission import read_submission


@dataclass(frozen=True)
class Candidate:
    """A program that makes one known mistake, or two at once."""

    mistakes: tuple[Mistake, ...]
    source: str
    """The exercise's source with the edits applied."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of its mistakes in the order of the course file."""
        return tuple(m.id for m in self.mistakes)


@cache
def solution_text(lesson: str) -> str:
    """The lesson's solution as one program text, read by the same reader as a submission."""
    course = load_course()
    path = course.lesson(lesson).solution
    submission = read_submission(path, tuple(course.exercises))
    if submission.unreadable or not submission.files or submission.files[0].problems:
        raise CourseError(f"{path}: 해답을 읽을 수 없어요: {submission.unreadable or submission.files}")
    return submission.files[0].text


def exercise_source(exercise: Exercise) -> str:
    """Source of the exercise's function or class in the solution, decorators included."""
    text = solution_text(exercise.lesson)
    start, end = definition_span(text, exercise.name)
    return "".join(f"{line}\n" for line in text.split("\n")[start - 1 : end])


def definition_span(text: str, name: str) -> tuple[int, int]:
    """First and last line (from 1) of the last top-level definition of `name`.

    Raises:
        CourseError: it is not defined.
    """
    for node in reversed(ast.parse(text).body):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            return first, node.end_lineno or node.lineno
    raise CourseError(f"해답에 `{name}` 정의가 없어요")


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


def single_mistakes(exercise: Exercise) -> Iterator[Candidate]:
    """Every way to make every known mistake, in the order of the course file."""
    source = exercise_source(exercise)
    for mistake in exercise.mistakes:
        for number, edits in enumerate(mistake.programs):
            which = f"variants의 {number}번째" if number else "edits"
            owner = f"{exercise.name}.toml: 실수 '{mistake.id}'의 {which}"
            edited = apply_edits(source, edits, owner)
            if edited is None:
                raise CourseError(f"{owner}: 고치는 곳이 서로 겹쳐요. 하나로 합쳐 주세요.")
            yield Candidate((mistake,), edited)


def paired_mistakes(exercise: Exercise, *, every_way: bool) -> Iterator[Candidate]:
    """Every pair whose edits do not overlap and whose result is a program.

    `every_way` pairs each way to make a mistake with each way to make the other: several times as many.
    """
    source = exercise_source(exercise)
    for one, other in combinations(exercise.mistakes, 2):
        counts = [None if every_way else mistake.in_pairs for mistake in (one, other)]
        for edits in product(one.programs[: counts[0]], other.programs[: counts[1]]):
            edited = apply_edits(source, edits[0] + edits[1], exercise.name)
            if edited is not None and _parses(edited):
                yield Candidate((one, other), edited)


def _parses(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True
