"""Notices when a function is changed within: its code, its defaults, or what a decorator put around it."""

import sys
from types import CellType, FunctionType
from typing import Any

from torch import _compile

from grader.sandbox.inside.uncompiled import StandIn

_PARTS = ("__code__", "__defaults__", "__kwdefaults__")
_INSTEAD = "__dynamo_disable"
"""Where `torch._compile` notes what it calls instead of a function, once the compiler has told it."""


class Functions:
    """Functions that are to stay what they are."""

    def __init__(self) -> None:
        self._functions: set[FunctionType] = set()
        self._cells: list[tuple[CellType, str, Any]] = []
        self._notes: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
        self._replaced: list[tuple[FunctionType, str, Any]] = []

    def keep(self, found: Any) -> None:
        """Keep this one, if it is one, and those around which it was made."""
        function = getattr(found, "__func__", found)  # of a static or a class method
        if not isinstance(function, FunctionType) or function in self._functions:
            return
        self._functions.add(function)
        _leave_the_compiler_out(function)
        name = function.__qualname__
        if function.__kwdefaults__:
            self._notes.append((name, function.__kwdefaults__, dict(function.__kwdefaults__)))
        if hasattr(function, _INSTEAD):
            self._notes.append((name, vars(function), {_INSTEAD: getattr(function, _INSTEAD)}))
        for cell in function.__closure__ or ():
            self._cells.append((cell, name, _content(cell)))
            self.keep(_content(cell))

    def notice(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note a part that is about to be replaced.

        An audit hook: to compare all parts afterwards would touch, and so copy, the memory of all functions.
        """
        if event == "object.__setattr__" and arguments[1] in _PARTS:
            function, part = arguments[:2]
            if isinstance(function, FunctionType) and function in self._functions:
                self._replaced.append((function, part, getattr(function, part)))

    def put_back(self) -> list[str]:
        """Make all as they were; names of those that were not."""
        replaced, changed = self._replaced[::-1], []
        for function, part, value in replaced:
            setattr(function, part, value)
            changed.append(function.__qualname__)
        self._replaced.clear()  # the last of them noted what was done just now
        for cell, name, content in self._cells:
            if _content(cell) is not content:
                cell.cell_contents = content
                changed.append(name)
        for name, now, noted in self._notes:
            if any(now.get(key) is not value for key, value in noted.items()):
                now.update(noted)
                changed.append(name)
        return list(dict.fromkeys(changed))


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing is in it yet
        return None


def _leave_the_compiler_out(function: FunctionType) -> None:
    """As its first call does: that is nobody's doing."""
    compiler = sys.modules.get("torch._dynamo")
    wrapped = vars(function).get("__wrapped__")
    if (
        isinstance(compiler, StandIn)
        and function.__code__.co_filename == _compile.__file__
        and wrapped is not None
    ):
        vars(wrapped).setdefault(_INSTEAD, compiler.disable(wrapped))
