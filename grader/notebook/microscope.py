"""Provide `microscope`, which shows in a notebook a real update of the learner's function beside the solution's."""

import inspect
from collections.abc import Callable
from typing import Any

from grader.course.course import CourseError, Exercise
from grader.course.reading import load_course
from grader.grading.time_limit import time_limit
from grader.notebook.microscopy.drawing import Code, html_picture, text_picture
from grader.notebook.microscopy.look import View, as_taught, views
from grader.notebook.microscopy.situations import NothingToSee
from grader.notebook.seen_code import with_seen_code
from grader.notebook.shown import Shown, message
from grader.observe.program import Program
from grader.observe.wording import with_particle

_SECONDS = 5.0
"""Default time limit of one recording, in seconds."""


def microscope(function: Callable[..., Any] | None = None, *, seconds: float = _SECONDS) -> Shown:
    """Show what each line of the function does to four numbers of a tiny model, beside the course's solution.

    Args:
        function: a graded function that makes updates (`train_step`, `accumulate`, `sam_step`, `amp_step` …).
        seconds: time limit of a recording; what was recorded until then is shown.
    """
    if not callable(function):
        return message(
            f"microscope에는 함수를 그대로 넘겨 주세요 (받은 값의 타입: {type(function).__name__}). "
            "예: microscope(train_step)"
        )
    try:
        exercise = load_course().exercise(str(getattr(function, "__name__", type(function).__name__)))
        found, code = _views_and_code(exercise, function, seconds)
    except CourseError as error:
        return message(str(error))
    except NothingToSee:
        return message(
            f"{with_particle(f'`{exercise.name}`', '은/는')} 현미경으로 볼 업데이트가 없어요. "
            "모델과 옵티마이저를 받아 업데이트하는 함수를 넘겨 주세요. 예: microscope(train_step)"
        )
    picture = with_seen_code(html_picture(exercise.name, found, code), exercise.name, function)
    return Shown(picture, text_picture(exercise.name, found))


def _views_and_code(
    exercise: Exercise, function: Callable[..., Any], seconds: float
) -> tuple[list[View], Code]:
    """Return what the microscope sees, and the function's numbered lines."""
    own = inspect.unwrap(function)
    code = getattr(own, "__code__", None)
    program = Program({exercise.name: function}, code.co_filename if code is not None else "<?>")
    found = views(exercise, function, program, lambda: time_limit(seconds))
    return as_taught(found, exercise, load_course()), _numbered_lines(own)


def _numbered_lines(function: Callable[..., Any]) -> Code:
    """Return the function's numbered lines; empty if its source is not known."""
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError, SyntaxError):
        return []
    return list(enumerate((line.rstrip() for line in lines), start=max(1, first)))
