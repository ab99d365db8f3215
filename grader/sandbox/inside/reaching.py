"""Notices when a submission reaches for the frames and objects around it, however it spells that.

Python tells audit hooks of such acts, and a hook cannot be removed. Each act is told to grader at once. Attributes
such as `__globals__` are no such acts: what is noticed is a hint for the instructor, and costs nothing.
"""

import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

Tell = Callable[[str, int], None]
"""Gets the act and the submission's line."""

_ACTS = {
    *("sys._getframe", "sys._current_frames", "sys._current_exceptions", "sys.settrace", "sys.setprofile"),
    *("gc.get_objects", "gc.get_referrers", "gc.get_referents", "sys.addaudithook"),
    *("ctypes.dlopen", "ctypes.dlsym", "ctypes.dlsym/handle", "ctypes.cdata", "ctypes.addressof"),
}
_TOUCHES = {"object.__getattr__", "object.__setattr__"}
_WATCHED = _ACTS | _TOUCHES
_ATTRIBUTES = {"tb_frame", "gi_frame", "cr_frame", "ag_frame", "f_code", "__code__"}
_STANDARD = os.path.dirname(os.__file__)
_ASKS_FOR_ITS_CALLER = os.path.join(_STANDARD, "collections", "__init__.py")
"""`namedtuple` looks at its caller's frame for the name of the module."""


def watch_for(filename: str, tell: Tell, *, most: int) -> None:
    """Tell, up to `most` times and each act at each line once, what the code with this file name reaches for."""
    told: set[tuple[str, int]] = set()
    looking: list[None] = []  # looking at a frame is such an act itself

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        # First what nearly all events are not: a play calls `id()` some thousand times, and tells of each.
        if event not in _WATCHED or looking or len(told) >= most:
            return
        act = arguments[1] if event in _TOUCHES else event
        if event in _TOUCHES and act not in _ATTRIBUTES:
            return
        looking.append(None)
        try:
            line = _line_of(sys._getframe(1), filename)
        finally:
            looking.pop()
        if line is not None and (act, line) not in told:
            told.add((act, line))
            tell(act, line)

    sys.addaudithook(hook)


def _line_of(frame: FrameType | None, filename: str) -> int | None:
    """The line, if that code did it itself or through one function of the standard library, as `inspect.stack()`."""
    if frame is not None and frame.f_code.co_filename != filename and _hands_on(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename != filename:
        return None
    return frame.f_lineno


def _hands_on(filename: str) -> bool:
    return filename.startswith((_STANDARD, "<frozen")) and filename != _ASKS_FOR_ITS_CALLER
