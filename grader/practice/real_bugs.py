"""Read 실제로 있었던 버그 (bugs of public repositories) from `solutions/real_bugs.toml`, and make cases of them."""

from functools import cache
from typing import Annotated

from msgspec import Meta, Struct

from grader import paths
from grader.course.course import Course, CourseError, Exercise, Text
from grader.course.reading import load_course, read_typed
from grader.practice.case import Case, as_file


class RealBug(Struct, frozen=True, forbid_unknown_fields=True):
    """A bug that was reported in public."""

    id: Annotated[str, Meta(pattern="^[a-z0-9]+(-[a-z0-9]+)*$")]
    link: Annotated[str, Meta(pattern="^https://github.com/[^ ]+/(issues|pull)/[0-9]+$")]
    where: Text
    """What kind of repository it is: a Korean noun phrase."""
    year: Annotated[int, Meta(ge=2015)]
    exercise: Text
    mistakes: Annotated[tuple[Text, ...], Meta(min_length=1)]
    """Ids of mistakes in the exercise's file."""
    story: Text
    """What was observed, told before the code is mended; it does not say which line is wrong."""
    cost: Text
    """What the bug cost, told afterwards."""
    program: Text
    """Our own code that makes the same mistake."""


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    bugs: tuple[RealBug, ...]


@cache
def load_real_bugs() -> tuple[RealBug, ...]:
    """Return all bugs, in the order of the course's exercises.

    Raises:
        CourseError: the file cannot be read, or names exercises or mistakes that do not exist.
    """
    path = paths.solutions_path("real_bugs.toml")
    found = read_typed(path, _File).bugs
    course = load_course()
    for bug in found:
        known = {mistake.id for mistake in course.exercise(bug.exercise).mistakes}
        if unknown := set(bug.mistakes) - known:
            raise CourseError(
                f"{path}: '{bug.id}'의 실수가 {bug.exercise}에 없어요: {', '.join(sorted(unknown))}. id를 고쳐 주세요."
            )
    ids = [bug.id for bug in found]
    if len(set(ids)) < len(ids):
        raise CourseError(f"{path}: 버그의 id가 겹쳐요. 하나를 바꿔 주세요: {', '.join(sorted(ids))}")
    order = list(course.exercises)
    return tuple(sorted(found, key=lambda bug: order.index(bug.exercise)))


def case_of(bug: RealBug, course: Course) -> Case:
    """Return the bug as a case to hand out.

    Raises:
        CourseError: its program needs a name that its lesson does not import.
    """
    exercise: Exercise = course.exercise(bug.exercise)
    text = as_file(exercise, bug.program.lstrip("\n"))
    if text is None:
        raise CourseError(
            f"solutions/real_bugs.toml: '{bug.id}'의 program이 레슨에서 import하지 않는 이름을 써요. 고쳐 주세요."
        )
    mistakes = tuple(mistake for mistake in exercise.mistakes if mistake.id in bug.mistakes)
    return Case(exercise, mistakes, text, program=bug.program.lstrip("\n"))
