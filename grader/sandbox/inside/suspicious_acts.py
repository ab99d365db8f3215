"""Report when a submission looks at the stack frames and objects around it: it may be debugging, or cheating.

Python calls *audit hooks* for such acts, however the code spells them: `getattr(sys, "_get" + "frame")()` raises the
same audit event as `sys._getframe()`. A hook cannot be removed. Each act is reported to the grader at once, because a
submission might end the process next. The instructor sees the reports; they cost no points.

Not every such act is noticed: reading an attribute such as `__globals__` raises no audit event.

`child.py` starts the watch and sends the reports, `sandbox/client.py` receives them, and `submission/tamper_scan.py`
words them for the instructor. To report another act, add its audit event to `_REPORTED_EVENTS`, or to
`_REPORTED_ATTRIBUTES` if it is the reading of an attribute.
"""

import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

MAX_ACT_REPORTS = 20
"""Maximum number of reports of one child. The grader closes a child that sends more, because an honest one does not."""
Report = Callable[[str, int], None]
"""Function that receives an act, and the line of the submission that did it: `("sys._getframe", 12)`."""

_REPORTED_EVENTS = {
    "sys._getframe",
    "sys._current_frames",
    "sys._current_exceptions",
    "sys.settrace",
    "sys.setprofile",
    "sys.monitoring.register_callback",
    "sys.addaudithook",
    "gc.get_objects",
    "gc.get_referrers",
    "gc.get_referents",
    "ctypes.dlopen",
    "ctypes.dlsym",
    "ctypes.dlsym/handle",
    "ctypes.cdata",
    "ctypes.addressof",
}
"""Audit events that are reported as acts. Python's documentation lists all events in its "Audit events table"."""
_REPORTED_ATTRIBUTES = {"tb_frame", "gi_frame", "cr_frame", "ag_frame", "f_code", "__code__"}
"""Attributes that lead to frames and code; reading or setting one is reported as an act."""
_ATTRIBUTE_EVENTS = {"object.__getattr__", "object.__setattr__"}
"""Audit events of reading and setting an attribute. Their second argument is its name."""
_WATCHED_EVENTS = _REPORTED_EVENTS | _ATTRIBUTE_EVENTS
"""All audit events that the hook looks at."""
_STANDARD_LIBRARY = os.path.dirname(os.__file__)
"""Folder of Python's own modules. What they do counts as the act of the code that called them."""
_NAMEDTUPLE_FILE = os.path.join(_STANDARD_LIBRARY, "collections", "__init__.py")
"""File of `namedtuple`, the exception: it looks at its caller's frame to find out the module's name, and every program
may call it."""


def watch_for_suspicious_acts(filename: str, report: Report, *, max_reports: int) -> None:
    """Report the suspicious acts of a file's code from now on, once for each act and line.

    Args:
        filename: the file's name in stack frames.
        report: called for each act.
        max_reports: maximum number of reports; then nothing more is reported.
    """
    reported: set[tuple[str, int]] = set()
    is_busy = False  # True while the hook itself looks at a frame, which raises such an event too

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal is_busy
        # The cheapest test comes first, because nearly all events fail it: a play raises thousands of events, one for
        # each `id()` for example.
        if event not in _WATCHED_EVENTS or is_busy or len(reported) >= max_reports:
            return
        act = arguments[1] if event in _ATTRIBUTE_EVENTS else event
        if event in _ATTRIBUTE_EVENTS and act not in _REPORTED_ATTRIBUTES:
            return
        is_busy = True
        try:
            line = _line_of(sys._getframe(1), filename)
        finally:
            is_busy = False
        if line is not None and (act, line) not in reported:
            reported.add((act, line))
            report(act, line)

    sys.addaudithook(hook)


def _line_of(frame: FrameType | None, filename: str) -> int | None:
    """Return the line of the file that is to blame for an act; None if other code did it.

    - The file's own code did it: that line.
    - A function of the standard library did it, such as `inspect.stack`: the line that called this function. Only the
      direct caller is looked at: where one function of the library calls another that does the act, there is no line.
    - A module that was handed in along with the file did it: the file's line that called or imported this module.

    Args:
        frame: stack frame in which the act was done.
        filename: the file's name in stack frames.
    """
    if frame is None:
        return None
    if frame.f_code.co_filename != filename and _acts_for_its_caller(frame.f_code.co_filename):
        frame = frame.f_back
    # So begin the file names of modules that were handed in along with the file.
    attached = f"{filename.rstrip('>')}/"
    if frame is not None and frame.f_code.co_filename.startswith(attached):
        while frame is not None and frame.f_code.co_filename.startswith((attached, "<frozen importlib")):
            frame = frame.f_back
    if frame is None or frame.f_code.co_filename != filename:
        return None
    return frame.f_lineno


def _acts_for_its_caller(filename: str) -> bool:
    """Return True if acts of this file's code count as its caller's: the standard library but `_NAMEDTUPLE_FILE`."""
    return filename.startswith((_STANDARD_LIBRARY, "<frozen")) and filename != _NAMEDTUPLE_FILE
