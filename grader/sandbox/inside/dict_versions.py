"""Tell which dicts were written to, without touching the values in them.

`originals` compares the attributes of a module or class only if its dict was written to; this module says which were.
Looking at a value changes its reference count, and in a forked process the first such change copies the memory page
that the value lies on: comparing all ten thousand attributes took 13 ms for each submission. Up to Python 3.13 each
dict has a version tag (`ma_version_tag`, PEP 509), a number that changes whenever an entry is added, removed or gets
another value. Where there are no tags, all dicts count as written to.

A submission that writes into memory itself can change a tag, as it can change everything else in its process. How it
can get there is reported to the instructor as far as it is known: `suspicious_acts` and `submission/tamper_scan.py`.
"""

import builtins
import ctypes
import gc
from collections.abc import Callable
from typing import Any

globals()["__builtins__"] = dict(vars(builtins))  # a copy of its own: see `inside/__init__.py`
# Taken before a submission can replace them.
_get_referents = gc.get_referents
_number_at = ctypes.c_uint64.from_address

_TAG_OFFSET = object.__basicsize__ + ctypes.sizeof(ctypes.c_ssize_t)
"""Offset of the version tag in a dict object, in bytes: it comes after the object header and the number of items."""


class DictVersions:
    """Tracks writes to dicts.

    The *accepted* version of a dict is the one that it had when it was first tracked, or that `accept` was last called
    with. A dict is known by its position: `track` numbers them from 0.
    """

    def __init__(self) -> None:
        self._has_version_tags = _python_has_version_tags()
        """True if this Python has version tags; if not, every dict counts as written to."""
        self._tags: list[memoryview] = []
        """View of the version tag of each tracked dict, in the order of their positions; empty without tags."""
        self._accepted: list[int] = []
        """Accepted version of each tracked dict; empty without tags."""
        self._count = 0
        """Number of tracked dicts."""

    def track(self, variables: Any) -> None:
        """Track one more dict, and accept its current version.

        Args:
            variables: `vars` of a module or a class. The dict must live as long as this object, which looks into its
                memory.
        """
        self._count += 1
        if self._has_version_tags:
            # `vars` of a class is a read-only view, which refers to the dict and to nothing else.
            dict_itself = variables if isinstance(variables, dict) else _get_referents(variables)[0]
            self._tags.append(_tag_of(dict_itself))
            self._accepted.append(self._tags[-1][0])

    def written(self) -> list[tuple[int, int]]:
        """Return position and present version of each dict whose version is not the accepted one.

        Without version tags, return all positions, with 0 as the version.
        """
        if not self._has_version_tags:
            return [(position, 0) for position in range(self._count)]
        numbers = enumerate(
            (tag[0], accepted) for tag, accepted in zip(self._tags, self._accepted, strict=True)
        )
        return [(position, number) for position, (number, accepted) in numbers if number != accepted]

    def accept(self, position: int, version: int) -> None:
        """Accept a version of a dict that `written` returned, after the dict's content was found right since then."""
        if self._has_version_tags:
            self._accepted[position] = version


def _tag_of(variables: dict[Any, Any]) -> memoryview:
    """Return a view of the place in memory that holds the dict's version tag: one item, which shows later changes."""
    # A view of C's type cannot be read by index; as bytes it can be cast to a type that can.
    return memoryview(_number_at(id(variables) + _TAG_OFFSET)).cast("B").cast("Q")


def _python_has_version_tags() -> bool:
    """Return True if, in this Python, a sample of usual writes changes a dict's version tag, and reading does not."""
    sample: dict[str, object] = {"one": 1, "two": 2}
    writes: tuple[Callable[[], object], ...] = (
        lambda: sample.update(three=3),
        lambda: sample.__setitem__("one", 4),
        lambda: sample.pop("two"),
        lambda: sample.setdefault("five", 5),
        sample.clear,
    )
    tag = _tag_of(sample)
    for write in writes:
        before = tag[0]
        sample.get("one")
        if tag[0] != before:
            return False
        write()
        if tag[0] == before:
            return False
    return True
