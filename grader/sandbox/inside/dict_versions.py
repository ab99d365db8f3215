"""Tell which dicts were written to, without touching the values in them.

`originals` could compare all attributes of all modules and classes instead. But looking at a value changes its
reference count, and in a forked process the first such change copies the memory page that the value lies on: comparing
ten thousand attributes took 13 ms for each submission. CPython has something better, until PEP 699 removes it: each
dict has a version tag (`ma_version_tag`, PEP 509), a number that changes with every write. If it has not changed,
nothing was written, and nothing need be compared.
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
"""Offset of the version tag in a dict object, in bytes: it comes after the object header and the number of items."""


class DictVersions:
    """Tracks writes to dicts.

    The *accepted* version of a dict is the one that it had when it was first tracked, or when `accept` was last called
    for it. A dict is known by its position: the number of dicts that were tracked before it.
    """

    def __init__(self) -> None:
        self._has_version_tags = _python_has_version_tags()
        """True if this Python has version tags; if not, every dict counts as written to."""
        self._addresses: list[int] = []
        """Addresses of the tracked dicts, in the order of their positions."""
        self._accepted_versions: list[int] = []
        """Accepted version of each tracked dict; -1 if there are no version tags."""

    def track(self, attributes: Any) -> None:
        """Track one more dict, and accept its current version.

        Args:
            attributes: `vars` of a module or a class. The dict must live as long as this object, which knows only the
                dict's address.
        """
        # `vars` of a class is a read-only view, which refers to the dict.
        tracked = attributes if isinstance(attributes, dict) else gc.get_referents(attributes)[0]
        self._addresses.append(id(tracked))
        self._accepted_versions.append(_version_at(id(tracked)) if self._has_version_tags else -1)

    def written_positions(self) -> list[int]:
        """Return the positions of the dicts whose version is not the accepted one.

        Without version tags, return all positions.
        """
        if not self._has_version_tags:
            return list(range(len(self._addresses)))
        return [
            position
            for position, (address, version) in enumerate(
                zip(self._addresses, self._accepted_versions, strict=True)
            )
            if _version_at(address) != version
        ]

    def accept(self, position: int) -> None:
        """Accept the current version of the dict at this position; call it when the dict's content is right."""
        if self._has_version_tags:
            self._accepted_versions[position] = _version_at(self._addresses[position])


def _version_at(address: int) -> int:
    """Return the version tag of the dict at this address."""
    return ctypes.c_uint64.from_address(address + _TAG_OFFSET).value


def _python_has_version_tags() -> bool:
    """Return True if, in this Python, each write tried here changes a dict's version tag, and reading does not."""
    tried: dict[str, object] = {"one": 1, "two": 2}
    writes: tuple[Callable[[], object], ...] = (
        lambda: tried.update(three=3),
        lambda: tried.__setitem__("one", 4),
        lambda: tried.pop("two"),
        lambda: tried.setdefault("five", 5),
        tried.clear,
    )
    for write in writes:
        before = _version_at(id(tried))
        tried.get("one")
        if _version_at(id(tried)) != before:
            return False
        write()
        if _version_at(id(tried)) == before:
            return False
    return True
