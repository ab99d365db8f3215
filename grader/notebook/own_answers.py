"""Tell a learner's answers from practice, and protect an answer from a practice cell that defines the same name.

Notebooks written by version 0.2.0 have drill and clinic cells that define a function under the exercise's own name.
While such a cell runs, the drill or clinic judges its function; afterwards the name gets its earlier value back, so
that no later `check` takes the drill for the answer.
"""

import inspect
import linecache
import types
from typing import Any

from grader.course.reading import load_course
from grader.notebook.shell import running_shell
from grader.submission.cells import as_python
from grader.submission.practice_cells import exercise_meant, practised

_EXERCISE_CELL = "exercise-"
"""Prefix of the ids of the lessons' exercise cells, in front ends that tell cell ids; such a cell holds an answer."""


def exercise_of_cell(info: Any) -> str | None:
    """Return the exercise to which the cell about to run belongs by its id; None for any other cell."""
    cell_id = str(getattr(info, "cell_id", None))
    return cell_id.removeprefix(_EXERCISE_CELL) if cell_id.startswith(_EXERCISE_CELL) else None


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


def protect_answers() -> None:
    """Protect answers from now on, in a notebook; otherwise do nothing."""
    shell = running_shell()
    if shell is not None:
        keeper = _Keeper(shell.user_ns)
        shell.events.register("pre_run_cell", keeper.before)
        shell.events.register("post_run_cell", keeper.after)


class _Keeper:
    """Saves and restores values in the notebook's namespace around each cell."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names
        self._kept: list[dict[str, Any]] = []
        """Saved values by name, one dict for each running cell, since one cell can run another."""

    def before(self, info: Any) -> None:
        """Save the answers that the cell about to run would overwrite."""
        exercises = practised(as_python(str(info.raw_cell)), tuple(load_course().exercises))
        if exercise_of_cell(info) is not None:
            exercises = frozenset()
        there = {name: self._names[name] for name in exercises if name in self._names}
        self._kept.append({name: value for name, value in there.items() if not is_practice(value)})

    def after(self, _result: Any) -> None:
        """Restore the saved answers after the cell has run or failed."""
        if self._kept:
            self._names.update(self._kept.pop())
