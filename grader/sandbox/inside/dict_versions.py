"""Tell which dicts were written to, without touching the values in them.

`originals` compares the attributes of a module or class only if its dict was written to; this module says which were.
Looking at a value changes its reference count, and in a forked process the first such change copies the memory page
that the value lies on: comparing all ten thousand attributes took 13 ms for each submission. Up to Python 3.13 each
dict has a version tag (`ma_version_tag`, PEP 509), a number that changes whenever an entry is added, removed or gets
another value. Where there are no tags, all dicts count as written to.

A submission that writes into memory by `ctypes` can change a tag itself. Such an act is reported to the instructor
(`suspicious_acts`).
"""

import builtins
import ctypes
import gc
from collections.abc import Callable
from typing import Any

# Give this module its own copy of all that it uses of others, made before any submission runs: a submission can replace
# `len` in the shared dict of builtins, and `ctypes.c_uint64`.
globals()["__builtins__"] = dict(vars(builtins))
_get_referents = gc.get_referents
_number_at = ctypes.c_uint64.from_address

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
        self._versions: list[memoryview] = []
        """Views of the version tags in the tracked dicts, in the order of their positions."""
        self._accepted: list[int] = []
        """Accepted version of each tracked dict."""
        self._count = 0
        """Number of tracked dicts."""

    def track(self, namespace: Any) -> None:
        """Track one more dict, and accept its current version.

        Args:
            namespace: `vars` of a module or a class. The dict must live as long as this object, which looks into its
                memory.
        """
        self._count += 1
        if self._has_version_tags:
            # `vars` of a class is a read-only view, which refers to the dict and to nothing else.
            dict_itself = namespace if isinstance(namespace, dict) else _get_referents(namespace)[0]
            self._versions.append(_version_view(dict_itself))
            self._accepted.append(self._versions[-1][0])

    def written_positions(self) -> list[int]:
        """Return the positions of the dicts whose version is not the accepted one.

        Without version tags, return all positions.
        """
        if not self._has_version_tags:
            return list(range(self._count))
        versions = enumerate(zip(self._versions, self._accepted, strict=True))
        return [position for position, (version, accepted) in versions if version[0] != accepted]

    def accept(self, position: int) -> None:
        """Accept the current version of the dict at this position; call it when the dict's content is right."""
        if self._has_version_tags:
            self._accepted[position] = self._versions[position][0]


def _version_view(namespace: dict[Any, Any]) -> memoryview:
    """Return a view of the dict's memory whose only item is always the dict's present version tag."""
    return memoryview(_number_at(id(namespace) + _TAG_OFFSET)).cast("B").cast("Q")


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
    version = _version_view(sample)
    for write in writes:
        before = version[0]
        sample.get("one")
        if version[0] != before:
            return False
        write()
        if version[0] == before:
            return False
    return True
