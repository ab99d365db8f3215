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

Report = Callable[[str, int], None]
"""Function that receives an act, and the submission's line that did it: `("sys._getframe", 12)`."""

_EVENTS = {
    *("sys._getframe", "sys._current_frames", "sys._current_exceptions", "sys.settrace", "sys.setprofile"),
    "sys.monitoring.register_callback",
    *("gc.get_objects", "gc.get_referrers", "gc.get_referents", "sys.addaudithook"),
    *("ctypes.dlopen", "ctypes.dlsym", "ctypes.dlsym/handle", "ctypes.cdata", "ctypes.addressof"),
}
"""Audit events of an act to report."""
_ATTRIBUTES = {"tb_frame", "gi_frame", "cr_frame", "ag_frame", "f_code", "__code__"}
_ATTRIBUTE_EVENTS = {"object.__getattr__", "object.__setattr__"}
"""Audit events of an act to report if they concern one of `_ATTRIBUTES`."""
_WATCHED = _EVENTS | _ATTRIBUTE_EVENTS
_STANDARD_LIBRARY = os.path.dirname(os.__file__)
_NAMEDTUPLE_FILE = os.path.join(_STANDARD_LIBRARY, "collections", "__init__.py")
"""File of `namedtuple`, which looks at its caller's frame to learn the module's name: that is no act of the caller."""


def report_acts(filename: str, report: Report, *, max_reports: int) -> None:
    """Report from now on what the code of a file reaches for, once for each act and line.

    Args:
        filename: the file's name in stack frames.
        report: called for each act.
        max_reports: maximum number of reports.
    """
    reported: set[tuple[str, int]] = set()
    busy = False  # True while the hook itself looks at a frame, which is such an act too

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal busy
        # The cheapest test comes first, because nearly all events fail it: one play raises thousands, for `id()` alone.
        if event not in _WATCHED or busy or len(reported) >= max_reports:
            return
        act = arguments[1] if event in _ATTRIBUTE_EVENTS else event
        if event in _ATTRIBUTE_EVENTS and act not in _ATTRIBUTES:
            return
        busy = True
        try:
            line = _line_of(sys._getframe(1), filename)
        finally:
            busy = False
        if line is not None and (act, line) not in reported:
            reported.add((act, line))
            report(act, line)

    sys.addaudithook(hook)


def _line_of(frame: FrameType | None, filename: str) -> int | None:
    """Return the line of the file at which an act was done; None if other code did it.

    An act of a function of the standard library, such as `inspect.stack`, counts as its caller's.

    Args:
        frame: stack frame in which the act was done.
        filename: the file's name in stack frames.
    """
    if (
        frame is not None
        and frame.f_code.co_filename != filename
        and _acts_for_its_caller(frame.f_code.co_filename)
    ):
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename != filename:
        return None
    return frame.f_lineno


def _acts_for_its_caller(filename: str) -> bool:
    """Return True if the file belongs to the standard library and may act on its caller's behalf."""
    return filename.startswith((_STANDARD_LIBRARY, "<frozen")) and filename != _NAMEDTUPLE_FILE
