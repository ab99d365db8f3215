"""Notice and undo changes inside functions: to their code, their defaults, or the values in their closures.

`f.__code__ = …` changes what `f` does, but `f` is the same object as before, so comparing the attributes of its module
or class, as `originals` does, shows nothing.
"""

import builtins
import functools
import sys
from collections.abc import Callable, Iterator
from types import CellType, FunctionType, MethodType
from typing import Any, NamedTuple

import torch._compile

from grader.sandbox.inside.compiler_stand_in import StandIn

# Give this module its own copy of the builtins, made before any submission runs: a submission can replace `len` or
# `setattr` in the shared dict.
globals()["__builtins__"] = dict(vars(builtins))

_ASSIGNABLE_PARTS = ("__code__", "__defaults__", "__kwdefaults__")
"""Attributes that decide what a function does and can be assigned. Its closure cannot, but the cells in it can."""
_DYNAMO_CACHE = "__dynamo_disable"
"""Attribute of a function that is decorated by `torch._compile._disable_dynamo`. The first call of the decorated
function sets it to another function, which is called in its place from then on."""
_BOUND = (staticmethod, classmethod, MethodType)
"""Types whose instances have the function that they call as `__func__`."""
_PARTIAL = (functools.cached_property, functools.partial)
"""Types whose instances have the function that they call as `func`."""
_EMPTY = object()
"""Stands for the content of an empty closure cell; None would be a content like any other."""


class _Cell(NamedTuple):
    """A cell in the closure of a function."""

    function_name: str
    cell: CellType
    content: Any
    """Its content when the function was protected; `_EMPTY` if there was none."""


class _Entries(NamedTuple):
    """Entries that must stay in a dict which belongs to a function."""

    function_name: str
    held_by: dict[str, Any]
    entries: dict[str, Any]


class _Assignment(NamedTuple):
    """An assignment to a part of a protected function, or its deletion."""

    function: FunctionType
    part: str
    """One of `_ASSIGNABLE_PARTS`."""
    before: Any
    """Its value before."""


class ProtectedFunctions:
    """Functions that must not be changed, with what is needed to restore them."""

    def __init__(self) -> None:
        self._functions: set[FunctionType] = set()
        self._cells: list[_Cell] = []
        self._entries: list[_Entries] = []
        self._forget_results: dict[FunctionType, Callable[[], None]] = {}
        """Function wrapped by `functools.lru_cache` -> the wrapper's `cache_clear`."""
        self._assignments: list[_Assignment] = []
        """Assignments noted since the functions were last restored, in order."""

    def protect(self, value: Any) -> None:
        """Protect the functions behind `value` (see `_functions_behind`) and those in their closures."""
        for function in _functions_behind(value):
            if isinstance(value, functools._lru_cache_wrapper):
                self._forget_results[function] = value.cache_clear
            if function not in self._functions:
                self._functions.add(function)
                self._protect_parts(function)

    def _protect_parts(self, function: FunctionType) -> None:
        """Note what a function's closure and dicts hold, and protect the functions in its closure."""
        _fill_dynamo_cache(
            function
        )  # first, because the code below notes this entry of the wrapped function, which is in the closure
        name = function.__qualname__
        if function.__kwdefaults__:
            self._entries.append(_Entries(name, function.__kwdefaults__, dict(function.__kwdefaults__)))
        if hasattr(function, _DYNAMO_CACHE):
            entry = {_DYNAMO_CACHE: getattr(function, _DYNAMO_CACHE)}
            self._entries.append(_Entries(name, vars(function), entry))
        for cell in function.__closure__ or ():
            content = _content(cell)
            self._cells.append(_Cell(name, cell, content))
            self.protect(content)

    def note_assignment(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note that a part of a protected function is about to be assigned or deleted.

        This is an audit hook: Python calls it before it does what it reports, so the part still has its old value.
        Comparing the parts of all functions afterwards would copy their memory in a forked process: looking at an
        object counts a reference to it, and so writes to it.

        Args:
            event: name of the audit event.
            arguments: what Python reports with it; for an assignment the object, the attribute and the new value.
        """
        if event in ("object.__setattr__", "object.__delattr__") and arguments[1] in _ASSIGNABLE_PARTS:
            function, part = arguments[:2]
            if isinstance(function, FunctionType) and function in self._functions:
                self._assignments.append(_Assignment(function, part, getattr(function, part)))

    def restore(self) -> list[str]:
        """Restore all functions; return the qualified names of those that were changed, each once."""
        changed: list[str] = []
        for function, part, before in reversed(self._assignments.copy()):  # a copy: restoring is noted too
            setattr(function, part, before)
            if function in self._forget_results:
                self._forget_results[function]()
            changed.append(function.__qualname__)
        self._assignments.clear()
        for name, cell, content in self._cells:
            if _content(cell) is not content:
                _fill(cell, content)
                changed.append(name)
        for name, held_by, entries in self._entries:
            if any(held_by.get(key, _EMPTY) is not value for key, value in entries.items()):
                held_by.update(entries)
                changed.append(name)
        return list(dict.fromkeys(changed))


def _functions_behind(value: Any) -> Iterator[FunctionType]:
    """Yield the Python functions that a call of `value` runs, or for a property its use.

    They are `value` itself, or what it was made from: the function of a static method, class method or bound method,
    those of a property, and the one that `functools.lru_cache` or one of numpy's dispatchers wraps.
    """
    if isinstance(value, FunctionType):
        yield value
    elif isinstance(value, _BOUND):
        yield from _functions_behind(value.__func__)
    elif isinstance(value, property):
        for accessor in (value.fget, value.fset, value.fdel):
            yield from _functions_behind(accessor)
    elif isinstance(value, _PARTIAL):
        yield from _functions_behind(value.func)
    elif not isinstance(value, type):
        # Not by `getattr`, which runs code of the value's class: `torch.classes` raises for unknown names.
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict):
            yield from _functions_behind(attributes.get("__wrapped__"))


def _content(cell: CellType) -> Any:
    """Return what a closure cell holds; `_EMPTY` if it is empty."""
    try:
        return cell.cell_contents
    except ValueError:  # how Python says that it is empty
        return _EMPTY


def _fill(cell: CellType, content: Any) -> None:
    """Make a closure cell hold `content`; empty it for `_EMPTY`."""
    if content is _EMPTY:
        del cell.cell_contents
    else:
        cell.cell_contents = content


def _fill_dynamo_cache(function: FunctionType) -> None:
    """Set `_DYNAMO_CACHE` as the first call would, if `function` is decorated by `torch._compile._disable_dynamo`.

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
