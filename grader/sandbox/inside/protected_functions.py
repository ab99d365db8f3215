"""Notice and undo changes inside functions: to their code, their defaults, or the values in their closures.

`f.__code__ = g.__code__` changes what `f` does, but `f` is still the same object. So comparing the attributes of its
module or class, as `originals` does, does not show the change.

Inside a function, what decides what it does is in three places:

- an attribute such as `__code__` (`_ASSIGNABLE_PARTS`): `noted_assignments` notes each assignment;
- the content of a closure cell: `restore` compares it with the original;
- entries of a dict, such as the keyword defaults: `restore` compares them too.

`originals` hands over everything that it finds in modules and classes; `_functions_behind` finds the Python functions
in it. So a new kind of wrapper goes into `_functions_behind`, with a case in `tests/sandbox/test_originals.py`.
"""

import builtins
import functools
import sys
from collections.abc import Callable, Iterator
from types import CellType, FunctionType, MethodType
from typing import Any, NamedTuple

import torch._compile

from grader.sandbox.inside.compiler_stand_in import StandIn
from grader.sandbox.inside.noted_assignments import NotedAssignments

globals()["__builtins__"] = dict(vars(builtins))  # a copy of its own: see `inside/__init__.py`

_ASSIGNABLE_PARTS = ("__code__", "__defaults__", "__kwdefaults__")
"""Attributes that decide what a function does and that can be assigned. `__closure__` cannot be assigned, but the
contents of its cells can."""
_DYNAMO_CACHE = "__dynamo_disable"
"""Attribute of the inner function of one decorated by `torch._compile._disable_dynamo`. The first call of the decorated
function sets it to another function, and from then on that one is called."""
_TYPES_WITH_DUNDER_FUNC = (staticmethod, classmethod, MethodType)
"""Types of wrappers that have the wrapped function as `__func__`."""
_TYPES_WITH_FUNC = (functools.cached_property, functools.partial)
"""Types of wrappers that have the wrapped function as `func`."""
_NO_VALUE = object()
"""Stands for the content of an empty closure cell, or for a missing entry of a dict, which are not the same as None."""


class _ClosureCell(NamedTuple):
    """A cell in the closure of a function, which must keep its content."""

    function_name: str
    cell: CellType
    content: Any
    """The original content; `_NO_VALUE` if the cell was empty."""


class _DictEntries(NamedTuple):
    """Entries of a dict that belongs to a function, which must stay as they are."""

    function_name: str
    changeable: dict[str, Any]
    """The dict itself, which code can change: the function's `__kwdefaults__`, or its `__dict__`."""
    originals: dict[str, Any]
    """Its entries as they must be."""


class ProtectedFunctions:
    """Functions that must not be changed, and what is needed to restore them."""

    def __init__(self) -> None:
        self._functions: set[FunctionType] = set()
        """The protected functions."""
        self._cells: list[_ClosureCell] = []
        """The cells of their closures."""
        self._dict_entries: list[_DictEntries] = []
        """Their keyword defaults, and entries under `_DYNAMO_CACHE`."""
        self._cache_clear: dict[FunctionType, Callable[[], None]] = {}
        """Function wrapped by `functools.lru_cache` -> the wrapper's `cache_clear`, which forgets results of a changed
        function."""
        self.assignments = NotedAssignments(_ASSIGNABLE_PARTS)
        """Assignments to the functions' parts."""

    def protect(self, value: Any) -> None:
        """Protect the functions that `value` is or wraps (see `_functions_behind`), and those in their closures."""
        for function in _functions_behind(value):
            if isinstance(value, functools._lru_cache_wrapper):
                self._cache_clear[function] = value.cache_clear
            if function not in self._functions:
                self._functions.add(function)
                self.assignments.watch(function)
                self._protect_parts(function)

    def _protect_parts(self, function: FunctionType) -> None:
        """Remember what a function's closure and dicts hold, and protect the functions in its closure."""
        # First, because this adds an entry to the dict of the inner function. That is in the closure: protected below.
        _fill_dynamo_cache(function)
        name = function.__qualname__
        if function.__kwdefaults__:
            self._dict_entries.append(
                _DictEntries(name, function.__kwdefaults__, dict(function.__kwdefaults__))
            )
        if hasattr(function, _DYNAMO_CACHE):
            entry = {_DYNAMO_CACHE: getattr(function, _DYNAMO_CACHE)}
            self._dict_entries.append(_DictEntries(name, vars(function), entry))
        for cell in function.__closure__ or ():
            content = _cell_content(cell)
            self._cells.append(_ClosureCell(name, cell, content))
            self.protect(content)

    def restore(self) -> list[str]:
        """Restore all functions, and return the qualified names of those that were changed, each once."""
        changed: list[str] = []
        for function in self.assignments.undo():
            assert isinstance(function, FunctionType)  # nothing else is watched here
            if function in self._cache_clear:
                self._cache_clear[function]()
            changed.append(function.__qualname__)
        for name, cell, content in self._cells:
            if _cell_content(cell) is not content:
                _set_cell_content(cell, content)
                changed.append(name)
        for name, changeable, originals in self._dict_entries:
            if any(changeable.get(key, _NO_VALUE) is not value for key, value in originals.items()):
                changeable.update(originals)
                changed.append(name)
        return list(dict.fromkeys(changed))


def _functions_behind(value: Any) -> Iterator[FunctionType]:
    """Yield the Python function that `value` is, or the functions that it wraps.

    What wraps functions: static methods, class methods, bound methods, properties, cached properties, partials, and
    objects with `__wrapped__`, such as those made by `functools.lru_cache` or numpy. Other wrappers are not known here.
    """
    if isinstance(value, FunctionType):
        yield value
    elif isinstance(value, _TYPES_WITH_DUNDER_FUNC):
        yield from _functions_behind(value.__func__)
    elif isinstance(value, property):
        for accessor in (value.fget, value.fset, value.fdel):
            yield from _functions_behind(accessor)
    elif isinstance(value, _TYPES_WITH_FUNC):
        yield from _functions_behind(value.func)
    elif not isinstance(value, type):
        # Look into `__dict__`, because `getattr(value, "__wrapped__")` may run code of the value's class: for example,
        # `torch.classes` raises an error for unknown names.
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict):
            yield from _functions_behind(attributes.get("__wrapped__"))


def _cell_content(cell: CellType) -> Any:
    """Return what a closure cell holds; `_NO_VALUE` if it is empty."""
    try:
        return cell.cell_contents
    except ValueError:  # the cell is empty
        return _NO_VALUE


def _set_cell_content(cell: CellType, content: Any) -> None:
    """Make a closure cell hold `content`, or nothing if that is `_NO_VALUE`."""
    if content is _NO_VALUE:
        del cell.cell_contents
    else:
        cell.cell_contents = content


def _fill_dynamo_cache(function: FunctionType) -> None:
    """If `function` is decorated by `torch._compile._disable_dynamo`, set `_DYNAMO_CACHE` as its first call does.

    Otherwise, if that call came while a submission runs, it would look like a change made by the submission.
    """
    compiler = sys.modules.get("torch._dynamo")
    wrapped = vars(function).get("__wrapped__")
    if (
        isinstance(compiler, StandIn)
        and function.__code__.co_filename == torch._compile.__file__
        and wrapped is not None
    ):
        vars(wrapped).setdefault(_DYNAMO_CACHE, compiler.disable(wrapped))
