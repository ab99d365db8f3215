"""Number live objects in the order in which they are seen, without keeping them alive."""

import weakref
from typing import Any


class Numbering:
    """Numbers of objects of one kind."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], int]] = {}
        self.references: list[weakref.ref[Any]] = []

    def find(self, thing: Any) -> int | None:
        """Return an object's number; None if it was never seen."""
        known = self._known.get(id(thing))
        return known[1] if known is not None and known[0]() is thing else None

    def add(self, thing: Any) -> int:
        """Number an object that is not known yet."""
        number = len(self.references)
        reference = weakref.ref(thing)
        self.references.append(reference)
        self._known[id(thing)] = reference, number
        return number

    def thing(self, number: int) -> Any:
        """Return the object; None if it is gone."""
        return self.references[number]()
