"""Tells which dicts were written to, without touching what is in them.

To look at a value is to count a reference to it, and after a fork the first such count copies the page that it lies
on: comparing ten thousand attributes cost each submission 13 ms. CPython numbers every write to a dict instead
(`ma_version_tag`, PEP 509): the number says that nothing was written, and only where it does not is there something to
compare.
"""

import ctypes
import gc
from collections.abc import Callable
from typing import Any

_TAG_OFFSET = object.__basicsize__ + ctypes.sizeof(ctypes.c_ssize_t)
"""Of a dict, in bytes: after its head and the number of its items."""


class DictVersions:
    """The version of each dict that is followed, as it was when somebody last settled what is in it."""

    def __init__(self) -> None:
        self._told = _tells_versions()
        self._addresses: list[int] = []
        self._seen: list[int] = []

    def follow(self, attributes: Any) -> None:
        """Follow the next one: a dict, or what `vars` gives of a class. It has to live as long as this object."""
        held = attributes if isinstance(attributes, dict) else gc.get_referents(attributes)[0]
        self._addresses.append(id(held))
        self._seen.append(_version(id(held)) if self._told else -1)

    def written(self) -> list[int]:
        """Places (0 is the first that was followed) of those that were written to since they were settled; all of them,
        where this Python does not tell."""
        if not self._told:
            return list(range(len(self._addresses)))
        return [
            place for place, address in enumerate(self._addresses) if _version(address) != self._seen[place]
        ]

    def settle(self, place: int) -> None:
        """What is in this one now is as it should be."""
        if self._told:
            self._seen[place] = _version(self._addresses[place])


def _version(address: int) -> int:
    return ctypes.c_uint64.from_address(address + _TAG_OFFSET).value


def _tells_versions() -> bool:
    """Whether every kind of write gives a dict of this Python a new number, and a look at it does not."""
    tried: dict[str, object] = {"one": 1, "two": 2}
    writes: tuple[Callable[[], object], ...] = (
        lambda: tried.update(three=3),
        lambda: tried.__setitem__("one", 4),
        lambda: tried.pop("two"),
        lambda: tried.setdefault("five", 5),
        tried.clear,
    )
    for write in writes:
        before = _version(id(tried))
        tried.get("one")
        if _version(id(tried)) != before:
            return False
        write()
        if _version(id(tried)) == before:
            return False
    return True
