"""Read the option `--as`: functions that answer an exercise under another name."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated

import typer

from grader.base.errors import CommandError
from grader.observe.wording import particle

if TYPE_CHECKING:
    from grader.course.course import Course

OwnNames = Annotated[
    list[str] | None,
    typer.Option(
        "--as",
        metavar="내이름=연습이름",
        help="이름이 다른 함수를 이 연습 문제로 확인해요. 예: --as trainStep=train_step. 여러 번 쓸 수 있어요",
    ),
]
ClassNames = Annotated[
    list[str] | None,
    typer.Option(
        "--as",
        metavar="학생의이름=연습이름",
        help="이 이름으로 낸 함수를 이 연습으로 채점해요. 예: --as trainStep=train_step. 여러 번 쓸 수 있어요",
    ),
]

_MISSPELT = 0.8
"""Minimum likeness (`difflib`) at which a name that no exercise has is taken for a misspelt exercise."""


def exercises_by_own_name(
    options: Sequence[str], course: "Course", *, for_class: bool = False
) -> dict[str, str]:
    """Return the values of `--as` as a dict: name in the files -> name of the exercise.

    Args:
        options: the values.
        course: the course.
        for_class: True if several names may mean one exercise, each another student's.

    Raises:
        CommandError: one of them is not of the form `own=exercise`, repeats a name, or has an exercise before `=`.
        CourseError: what stands after `=` is no exercise.
    """
    exercises: dict[str, str] = {}
    for option in options:
        own, equals, exercise = (part.strip() for part in option.partition("="))
        if not equals or not own.isidentifier() or not exercise:
            raise CommandError(
                f"--as에는 {'학생이 쓴' if for_class else '내'} 이름과 연습 문제의 이름을 =로 이어 적어 주세요. "
                f"받은 값: {option!r}. 예: --as trainStep=train_step"
            )
        if own in course.exercises:
            raise CommandError(_begins_with_exercise(own, exercise, course))
        course.exercise(exercise)
        if own in exercises or (exercise in exercises.values() and not for_class):
            raise CommandError(
                f"--as에 같은 이름이 두 번 나왔어요: {option}. 이름마다 한 번씩만 적어 주세요."
            )
        exercises[own] = exercise
    return exercises


def _begins_with_exercise(first: str, second: str, course: "Course") -> str:
    """Return the Korean error for `--as first=second` where the first name is an exercise's.

    The learner has swapped the two names, unless the second cannot be a function's, or is an exercise, misspelt or not.
    """
    meant = get_close_matches(second, course.exercises, 1, _MISSPELT)
    if second.isidentifier() and second not in course.exercises and meant in ([], [first]):
        return f"--as에서 차례가 바뀌었어요: {first}={second}. 이렇게 적어 주세요: --as {second}={first}"
    return (
        f"`{first}`{particle(first, '은/는')} 연습 문제의 이름이에요(--as {first}={second}). "
        "= 앞에는 파일에 쓴 이름을 적고, 두 이름이 같으면 --as를 빼고 확인해 주세요."
    )
