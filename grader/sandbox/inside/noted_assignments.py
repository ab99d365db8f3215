"""Undo assignments to special attributes of functions, classes and modules, such as `__code__` and `__bases__`.

Python raises an audit event before it assigns or deletes one of these attributes, however the code spells that. So
nothing needs to be compared afterwards, which would be slow in a forked process: looking at an object changes its
reference count, and the first such change copies the memory page that the object lies on.

The event comes before the assignment, so a thread can wait in between until the value has been put back. So an
attribute that was noted once is looked at each time from then on.

`protected_functions` watches functions, `originals` classes and modules. To watch another attribute, add it to the
`attributes` that one of them hands over. It must have the event `object.__setattr__`; Python's documentation does not
list those that have: in CPython's source they are those whose setter calls `PySys_Audit`.
"""

import builtins
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

globals()["__builtins__"] = dict(vars(builtins))  # a copy of its own: see `inside/__init__.py`

_EVENTS = ("object.__setattr__", "object.__delattr__")

Watched = FunctionType | ModuleType | type
"""What can be watched."""


class NotedAssignments:
    """Notes assignments to attributes of watched objects, from when `note` is an audit hook, and undoes them."""

    def __init__(self, attributes: tuple[str, ...]) -> None:
        """Watch nothing yet.

        Args:
            attributes: names of the attributes whose assignments are noted.
        """
        self._attributes = attributes
        self._watched: dict[int, Watched] = {}
        """Id of an object -> the object. Its own hash and equality might be a submission's."""
        self._values_before: dict[tuple[int, str], Any] = {}
        """(Id of an object, name of an attribute) -> the value that the attribute had before it was first assigned."""
        self._assigned: set[tuple[int, str]] = set()
        """Those that were assigned since the last `undo` that was not disturbed."""
        self._count = 0
        """Number of assignments noted, those that `undo` makes included."""

    def watch(self, value: Watched) -> None:
        """Note assignments to the attributes of this object from now on."""
        self._watched[id(value)] = value

    def note(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Remember the value of an attribute that is about to be assigned or deleted for the first time.

        This is an audit hook: Python calls it before it does what it reports, so the attribute still has its old value.

        Args:
            event: name of the audit event.
            arguments: arguments of the event. For an assignment, they are the object, the name of the attribute, and
                the new value; code may pass others by `sys.audit`.
        """
        if event not in _EVENTS or len(arguments) < 2:
            return
        watched, attribute = self._watched.get(id(arguments[0])), arguments[1]
        if watched is None or type(attribute) is not str or attribute not in self._attributes:
            return
        self._count += 1
        key = (id(watched), attribute)
        if key not in self._values_before:
            self._values_before[key] = _value_of(watched, attribute)
        self._assigned.add(key)

    def undo(self) -> list[Watched]:
        """Give the attributes the values that they had before, and return the objects whose attributes were assigned.

        What is let go here may assign again while it is deleted. Then the next call returns the objects again, until a
        call was not disturbed.
        """
        expected_count = self._count
        undone: dict[int, Watched] = {}
        for key, value in list(self._values_before.items()):
            identity, attribute = key
            watched = self._watched[identity]
            if key in self._assigned or _value_of(watched, attribute) is not value:
                expected_count += 1  # `note` hears of this assignment, too
                _plain_setattr(watched)(watched, attribute, value)
                undone[identity] = watched
        if self._count == expected_count:
            self._assigned.clear()
        return list(undone.values())


def _value_of(watched: Watched, attribute: str) -> Any:
    """Return the value of a special attribute, whatever the class of the object says of it."""
    if attribute == "__class__":
        return type(watched)
    kind: Any = type if isinstance(watched, type) else FunctionType
    return kind.__dict__[attribute].__get__(watched)


def _plain_setattr(value: Watched) -> Callable[[Any, str, Any], None]:
    """Return the `__setattr__` of Python's own type: the object's present class may have one of a submission."""
    return type.__setattr__ if isinstance(value, type) else object.__setattr__
