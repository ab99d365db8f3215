"""Tell which dicts were written to, without touching the values in them.

Looking at a value changes its reference count, and in a forked process the first such change copies the memory page
that the value lies on: comparing ten thousand attributes cost each submission 13 ms. CPython numbers every write to a
dict (`ma_version_tag`, PEP 509). If the number is unchanged, nothing was written, and nothing need be compared.
"""

import builtins
import ctypes
import gc
from collections.abc import Callable
from typing import Any

# Give this module its own copy of the builtins, made before any submission runs: a submission can replace `len` or
# `setattr` in the shared dict.
globals()["__builtins__"] = dict(vars(builtins))

_TAG_OFFSET = object.__basicsize__ + ctypes.sizeof(ctypes.c_ssize_t)
"""Offset of the version tag in a dict object, in bytes: it follows the object header and the number of items."""


class DictVersions:
    """The versions of dicts at the time when their contents were last declared to be right (`settle`)."""

    def __init__(self) -> None:
        self._numbered = _numbers_writes()
        """True if this Python numbers writes."""
        self._addresses: list[int] = []
        """Addresses of the followed dicts, in the order in which they were followed."""
        self._settled: list[int] = []
        """Version of each followed dict when it was last settled; -1 if writes are not numbered."""

    def follow(self, attributes: Any) -> None:
        """Follow one more dict; its current content counts as settled.

        Args:
            attributes: `vars` of a module or of a class. It must live as long as this object, which knows only its
                address.
        """
        # `vars` of a class is a read-only view, which refers to the dict.
        followed = attributes if isinstance(attributes, dict) else gc.get_referents(attributes)[0]
        self._addresses.append(id(followed))
        self._settled.append(_version(id(followed)) if self._numbered else -1)

    def written(self) -> list[int]:
        """Return the positions of the dicts written to since they were settled; 0 is the first one followed.

        If this Python does not number writes, these are all positions.
        """
        if not self._numbered:
            return list(range(len(self._addresses)))
        return [
            position
            for position, (address, version) in enumerate(zip(self._addresses, self._settled, strict=True))
            if _version(address) != version
        ]

    def settle(self, position: int) -> None:
        """Declare the current content of the dict at this position to be right."""
        if self._numbered:
            self._settled[position] = _version(self._addresses[position])


def _version(address: int) -> int:
    """Return the version tag of the dict at this address."""
    return ctypes.c_uint64.from_address(address + _TAG_OFFSET).value


def _numbers_writes() -> bool:
    """Return True if, in this Python, every kind of write changes a dict's number and reading does not."""
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
