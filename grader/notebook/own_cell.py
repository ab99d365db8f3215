"""Which cell a function of the learner's was written in, and whether that cell is practice."""

import inspect
import linecache
import types
from typing import Any

from grader.course.reading import load_course
from grader.submission.practice_cells import exercise_meant, practised


def code_of(function: Any) -> types.CodeType | None:
    """The code of a function, through decorators; for a class, of its first method."""
    function = inspect.unwrap(function)
    if inspect.isclass(function):
        methods = [m for m in vars(function).values() if isinstance(m, types.FunctionType)]
        return methods[0].__code__ if methods else None
    code = getattr(function, "__code__", None)
    return code if isinstance(code, types.CodeType) else None


def own_cell(function: Any) -> str:
    """The source of the cell; empty where nobody knows."""
    code = code_of(function)
    return "" if code is None else "".join(linecache.getlines(code.co_filename))


def is_practice(function: Any) -> bool:
    """Whether a function was written for the drill or the clinic: its name or its cell says so."""
    name = str(getattr(function, "__name__", ""))
    exercises = tuple(load_course().exercises)
    meant = exercise_meant(name, exercises)
    return meant is not None and (meant != name or meant in practised(own_cell(function), exercises))
