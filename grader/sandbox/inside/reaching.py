"""Notice when a submission reaches for the stack frames and objects around it, however it spells that.

Python calls audit hooks for such acts, and an audit hook cannot be removed. Each act is reported to the grader at once,
as a hint for the instructor; it costs no points. The list is not complete: reading an attribute such as `__globals__`
raises no audit event.
"""

import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

Tell = Callable[[str, int], None]
"""Function that reports an act and the submission's line: `("sys._getframe", 12)`."""

_ACTS = {
    *("sys._getframe", "sys._current_frames", "sys._current_exceptions", "sys.settrace", "sys.setprofile"),
    "sys.monitoring.register_callback",
    *("gc.get_objects", "gc.get_referrers", "gc.get_referents", "sys.addaudithook"),
    *("ctypes.dlopen", "ctypes.dlsym", "ctypes.dlsym/handle", "ctypes.cdata", "ctypes.addressof"),
}
_TOUCHES = {"object.__getattr__", "object.__setattr__"}
_WATCHED = _ACTS | _TOUCHES
_ATTRIBUTES = {"tb_frame", "gi_frame", "cr_frame", "ag_frame", "f_code", "__code__"}
_STANDARD = os.path.dirname(os.__file__)
_ASKS_FOR_ITS_CALLER = os.path.join(_STANDARD, "collections", "__init__.py")
"""File of `namedtuple`, which looks at its caller's frame to learn the module's name."""


def watch_for(filename: str, tell: Tell, *, most: int) -> None:
    """Report what the code with this file name reaches for: each act once for each line, at most `most` in all."""
    reported: set[tuple[str, int]] = set()
    looking: list[None] = []  # not empty while the hook itself looks at a frame, which is such an act too

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        # The cheapest test comes first, because nearly all events fail it: one play raises thousands, for `id()` alone.
        if event not in _WATCHED or looking or len(reported) >= most:
            return
        act = arguments[1] if event in _TOUCHES else event
        if event in _TOUCHES and act not in _ATTRIBUTES:
            return
        looking.append(None)
        try:
            line = _line_of(sys._getframe(1), filename)
        finally:
            looking.pop()
        if line is not None and (act, line) not in reported:
            reported.add((act, line))
            tell(act, line)

    sys.addaudithook(hook)


def _line_of(frame: FrameType | None, filename: str) -> int | None:
    """Return the line at which the code with this file name did it, itself or through one function of the standard
    library such as `inspect.stack()`; None if other code did."""
    if frame is not None and frame.f_code.co_filename != filename and _hands_on(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename != filename:
        return None
    return frame.f_lineno


def _hands_on(filename: str) -> bool:
    """True if the file belongs to the standard library and may act on its caller's behalf."""
    return filename.startswith((_STANDARD, "<frozen")) and filename != _ASKS_FOR_ITS_CALLER
