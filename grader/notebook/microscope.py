"""`microscope`: what a learner calls in a cell to see a real update of a function of theirs beside the right one."""

import inspect
from collections.abc import Callable
from typing import Any

from grader.course.course import CourseError, Exercise
from grader.course.reading import load_course
from grader.grading.time_limit import time_limit
from grader.microscopy.drawing import Code, html_picture, text_picture
from grader.microscopy.look import View, views
from grader.microscopy.situations import NothingToSee
from grader.notebook.shown import Shown, message
from grader.observe.program import Program
from grader.observe.wording import with_particle

_SECONDS = 5.0


def microscope(function: Callable[..., Any] | None = None, *, seconds: float = _SECONDS) -> Shown:
    """Show what each line of the function does to four numbers of a tiny model, beside the course's solution.

    Args:
        function: a graded function that makes updates (`train_step`, `accumulate`, `sam_step`, `amp_step` …).
        seconds: after this time a look is stopped; what was seen until then is shown.
    """
    if not callable(function):
        return message(
            f"microscope에는 함수를 그대로 넘겨 주세요 (받은 값의 타입: {type(function).__name__}). "
            "예: microscope(train_step)"
        )
    try:
        exercise = load_course().exercise(str(getattr(function, "__name__", type(function).__name__)))
        found, code = _looked(exercise, function, seconds)
    except CourseError as error:
        return message(str(error))
    except NothingToSee:
        return message(
            f"{with_particle(f'`{exercise.name}`', '은/는')} 현미경으로 볼 업데이트가 없어요. "
            "모델과 옵티마이저를 받아 업데이트하는 함수를 넘겨 주세요. 예: microscope(train_step)"
        )
    return Shown(html_picture(exercise.name, found, code), text_picture(exercise.name, found))


def _looked(exercise: Exercise, function: Callable[..., Any], seconds: float) -> tuple[list[View], Code]:
    own = inspect.unwrap(function)
    code = getattr(own, "__code__", None)
    program = Program({exercise.name: function}, code.co_filename if code is not None else "<?>")
    return views(exercise, function, program, lambda: time_limit(seconds)), _source(own)


def _source(function: Callable[..., Any]) -> Code:
    """The function's lines; none where nobody knows them."""
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError, SyntaxError):
        return []
    return list(enumerate((line.rstrip() for line in lines), start=max(1, first)))
