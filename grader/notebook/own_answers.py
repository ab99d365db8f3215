"""Find the cell in which a learner's function was written, and decide if that cell is practice (drill or clinic)."""

import inspect
import linecache
import types
from typing import Any

from grader.course.reading import load_course
from grader.submission.practice_cells import exercise_meant, practised


def code_of(function: Any) -> types.CodeType | None:
    """Return the code of a function, through decorators; for a class, of its first method; None if there is none."""
    function = inspect.unwrap(function)
    if inspect.isclass(function):
        methods = [m for m in vars(function).values() if isinstance(m, types.FunctionType)]
        return methods[0].__code__ if methods else None
    code = getattr(function, "__code__", None)
    return code if isinstance(code, types.CodeType) else None


def own_cell(function: Any) -> str:
    """Return the source of the cell in which the function was written; empty if not known."""
    code = code_of(function)
    return "" if code is None else "".join(linecache.getlines(code.co_filename))


def is_practice(function: Any) -> bool:
    """Return True if the function was written for the drill or the clinic, by its name or its cell."""
    name = str(getattr(function, "__name__", ""))
    exercises = tuple(load_course().exercises)
    meant = exercise_meant(name, exercises)
    return meant is not None and (meant != name or meant in practised(own_cell(function), exercises))
