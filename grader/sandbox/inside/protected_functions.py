"""Notice and undo changes inside functions: to their code, their defaults, or the values their closures hold.

`originals` compares the attributes of modules and classes, which does not show that the function behind an attribute
was changed in place, as by `f.__code__ = …`.
"""

import sys
from types import CellType, FunctionType
from typing import Any

import torch._compile

from grader.sandbox.inside.compiler_stand_in import StandIn

_PARTS = ("__code__", "__defaults__", "__kwdefaults__")
"""Attributes that decide what a function does; all other parts of a function are read-only, or lie in its closure."""
_DYNAMO_CACHE = "__dynamo_disable"
"""Attribute of a function decorated by `torch._compile`: the cached function that is called in its place."""


class ProtectedFunctions:
    """Functions that must not be changed, with what is needed to restore them."""

    def __init__(self) -> None:
        self._functions: set[FunctionType] = set()
        self._cells: list[tuple[CellType, str, Any]] = []
        """(closure cell, name of its function, original content)"""
        self._kept_entries: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
        """(name of the function, a dict of it, the entries that must stay in that dict)"""
        self._replaced: list[tuple[FunctionType, str, Any]] = []
        """(function, attribute, value before it was replaced or deleted), in order"""

    def keep(self, found: Any) -> None:
        """Protect `found` if it is a function, and the functions in its closure, which a decorator wraps."""
        function = getattr(found, "__func__", found)  # unwrap a static or class method
        if not isinstance(function, FunctionType) or function in self._functions:
            return
        self._functions.add(function)
        _fill_dynamo_cache(function)
        name = function.__qualname__
        if function.__kwdefaults__:
            self._kept_entries.append((name, function.__kwdefaults__, dict(function.__kwdefaults__)))
        if hasattr(function, _DYNAMO_CACHE):
            self._kept_entries.append(
                (name, vars(function), {_DYNAMO_CACHE: getattr(function, _DYNAMO_CACHE)})
            )
        for cell in function.__closure__ or ():
            self._cells.append((cell, name, _content(cell)))
            self.keep(_content(cell))

    def notice(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note that a part of a protected function is about to be replaced or deleted; used as an audit hook.

        Comparing the parts of all functions afterwards would copy their memory in a forked process: looking at an
        object counts a reference to it, and so writes to it.
        """
        if event in ("object.__setattr__", "object.__delattr__") and arguments[1] in _PARTS:
            function, part = arguments[:2]
            if isinstance(function, FunctionType) and function in self._functions:
                self._replaced.append((function, part, getattr(function, part)))

    def put_back(self) -> list[str]:
        """Restore all functions; return the names of those that were changed."""
        latest_first, changed = self._replaced[::-1], []
        for function, part, value in latest_first:
            setattr(function, part, value)
            changed.append(function.__qualname__)
        self._replaced.clear()  # the loop's own assignments were noted too
        for cell, name, content in self._cells:
            if _content(cell) is not content:
                cell.cell_contents = content
                changed.append(name)
        for name, entries, kept in self._kept_entries:
            if any(entries.get(key) is not value for key, value in kept.items()):
                entries.update(kept)
                changed.append(name)
        return list(dict.fromkeys(changed))


def _content(cell: CellType) -> Any:
    """Return what a closure cell holds; None if it is empty."""
    try:
        return cell.cell_contents
    except ValueError:  # the cell is still empty
        return None


def _fill_dynamo_cache(function: FunctionType) -> None:
    """Set the attribute that the first call of a function decorated by `torch._compile` would set.

    Otherwise that first call would look like a change made by the submission.
    """
    compiler = sys.modules.get("torch._dynamo")
    wrapped = vars(function).get("__wrapped__")
    if (
        isinstance(compiler, StandIn)
        and function.__code__.co_filename == torch._compile.__file__
        and wrapped is not None
    ):
        vars(wrapped).setdefault(_DYNAMO_CACHE, compiler.disable(wrapped))
