"""Tell which dicts were written to, without touching the values in them.

Looking at a value changes its reference count, and in a forked process the first such change copies the memory page
that the value lies on: comparing ten thousand attributes cost each submission 13 ms. CPython numbers every write to a
dict (`ma_version_tag`, PEP 509). If the number is unchanged, nothing was written, and nothing need be compared.
"""

import ctypes
import gc
from collections.abc import Callable
from typing import Any

_TAG_OFFSET = object.__basicsize__ + ctypes.sizeof(ctypes.c_ssize_t)
"""Offset of the version tag in a dict object, in bytes: it follows the object header and the number of items."""


class DictVersions:
    """The version of each followed dict at the time it was last settled."""

    def __init__(self) -> None:
        self._told = _tells_versions()
        self._addresses: list[int] = []
        self._seen: list[int] = []

    def follow(self, attributes: Any) -> None:
        """Follow one more dict, or the `vars` of a class. It must live as long as this object."""
        held = attributes if isinstance(attributes, dict) else gc.get_referents(attributes)[0]
        self._addresses.append(id(held))
        self._seen.append(_version(id(held)) if self._told else -1)

    def written(self) -> list[int]:
        """Return the places of the dicts written to since they were settled; 0 is the first one followed.

        All places, if this Python does not number writes.
        """
        if not self._told:
            return list(range(len(self._addresses)))
        return [
            place for place, address in enumerate(self._addresses) if _version(address) != self._seen[place]
        ]

    def settle(self, place: int) -> None:
        """Declare the current content of the dict at `place` to be right."""
        if self._told:
            self._seen[place] = _version(self._addresses[place])


def _version(address: int) -> int:
    """Return the version tag of the dict at this address."""
    return ctypes.c_uint64.from_address(address + _TAG_OFFSET).value


def _tells_versions() -> bool:
    """True if, in this Python, every kind of write changes a dict's number and reading does not."""
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
