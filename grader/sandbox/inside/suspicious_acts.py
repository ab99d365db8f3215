"""Report when a submission looks at stack frames or other objects, traces calls, or uses `ctypes`.

It may be debugging, or cheating. For such acts, Python calls *audit hooks*, whatever name the code calls them by:
`getattr(sys, "_get" + "frame")()` raises the same audit event as `sys._getframe()`. A hook cannot be removed. Each act
is reported to the grader at once, because a submission might end the process next. The instructor sees the reports;
they cost no points.

Only some such acts are noticed:

- Acts without an audit event, such as replacing a function, cannot be seen here: `originals.py`. Reading most
  attributes, such as `__globals__` or `f_back`, raises none either.
- An act is reported only if its line in the program can be told (`_line_of`). It cannot if code compiled under the
  name of another file acts, a function of the library for another one of the library (`inspect.trace`), or a thread
  that runs none of the program's own functions (`pool.submit(sys._getframe)`).

`child.py` starts the watch and sends the reports, `sandbox/client.py` receives them, and `submission/tamper_scan.py`
words them for the instructor; it also looks for names such as `f_back` in the program's text. To report another act,
add its audit event to `_REPORTED_EVENTS`. If it is the use of an attribute, add the attribute's name to
`_REPORTED_ATTRIBUTES`; that works only for attributes whose use raises an event.
"""

import builtins
import inspect
import os
import sys
import threading
import types
from collections import namedtuple
from collections.abc import Callable
from types import FrameType
from typing import Any

globals()["__builtins__"] = dict(vars(builtins))  # a copy of its own: see `inside/__init__.py`

MAX_ACT_REPORTS = 20
"""Maximum number of reports of one program. The grader closes a child that sends more: an unmodified child sends no
more."""
Report = Callable[[str, int, int], None]
"""Function that receives an act, the line of the submission that did it, and the number of the program that was loaded
last: `("sys._getframe", 12, 1)`."""

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
_REPORTED_ATTRIBUTES = {
    *("tb_frame", "gi_frame", "cr_frame", "ag_frame"),
    *("f_code", "gi_code", "cr_code", "ag_code", "__code__"),
}
"""Attributes that lead to frames and code, and whose reading and setting raise an audit event. Either is reported."""
_ATTRIBUTE_EVENTS = {"object.__getattr__", "object.__setattr__"}
"""Audit events of reading and setting an attribute. Their second argument is its name."""
_WATCHED_EVENTS = _REPORTED_EVENTS | _ATTRIBUTE_EVENTS
"""All audit events that the hook looks at."""
_STANDARD_LIBRARY = os.path.join(os.path.dirname(os.__file__), "")
"""Folder of Python's own modules. What they do counts as the act of the code that called them."""
_INSTALLED_PACKAGES = tuple(
    os.path.join(_STANDARD_LIBRARY, name, "") for name in ("site-packages", "dist-packages")
)
"""Folders in `_STANDARD_LIBRARY` that hold installed packages, which are not Python's own modules."""
_HARMLESS_CODE = tuple(function.__code__ for function in (namedtuple, types.coroutine, inspect.getfile))
"""Code of functions of the library that do such acts themselves, but tell their caller nothing: it may be
any program. `namedtuple` looks at a frame for the name of a module, the others at the code of a function."""
_LOCK_SECONDS = 1.0
"""Maximum time for which an act waits until another thread has reported its own; then it is not reported. Without this
maximum, an act could wait for ever, in a signal handler or in a process that was forked meanwhile."""
_current_frame = sys._getframe  # taken before a submission can replace it


def watch_for_suspicious_acts(filename: str, report: Report, *, max_reports: int) -> Callable[[], None]:
    """Report the suspicious acts of a program's code from now on, once for each act and line.

    Args:
        filename: the program's name in stack frames.
        report: called for each act, by one thread at a time. If it raises an exception, Python does not do the act, and
            the code that tried it gets the exception.
        max_reports: maximum number of reports for one program; then nothing more is reported.

    Returns:
        Function to call whenever a program of this name is about to be loaded: its acts are reported too, although the
        program before may have done the same. Threads of that one may act on; that counts as an act of the new program.
    """
    reported: set[tuple[str, int]] = set()
    program = 0  # how many programs have been loaded
    reporting = threading.Lock()
    # Ids of threads that are inside the hook: it looks at frames itself, which raises watched events.
    threads_inside: set[int] = set()
    current_thread = threading.get_ident

    def begin_program() -> None:
        nonlocal program
        # Not while an act is being reported: the grader counts the reports of each program, and must get the same.
        is_locked = reporting.acquire(timeout=_LOCK_SECONDS)
        reported.clear()
        program += 1
        if is_locked:
            reporting.release()

    def report_once(act: str, line: int) -> None:
        if (act, line) in reported or not reporting.acquire(timeout=_LOCK_SECONDS):
            return
        try:
            # Look again: another thread may have reported it meanwhile.
            if (act, line) not in reported and len(reported) < max_reports:
                reported.add((act, line))
                report(act, line, program)
        finally:
            reporting.release()

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        # The cheapest test comes first, because nearly all events fail it: a play raises thousands of events, one for
        # each `id()` for example.
        if event not in _WATCHED_EVENTS or len(reported) >= max_reports:
            return
        act = _act_of(event, arguments)
        thread = current_thread()
        if act is None or thread in threads_inside:
            return
        threads_inside.add(thread)
        try:
            line = _line_of(_current_frame(1), filename)
            if line is not None:
                report_once(act, line)
        finally:
            threads_inside.discard(thread)

    sys.addaudithook(hook)
    return begin_program


def _act_of(event: str, arguments: tuple[Any, ...]) -> str | None:
    """Return the name of the act that raised a watched event; None if it is not reported.

    Code may raise any event itself by `sys.audit`, with arguments that Python never passes.
    """
    if event not in _ATTRIBUTE_EVENTS:
        return event
    if len(arguments) < 2 or type(arguments[1]) is not str:
        return None
    return arguments[1] if arguments[1] in _REPORTED_ATTRIBUTES else None


def _line_of(frame: FrameType | None, filename: str) -> int | None:
    """Return the line of the program that is to blame for an act; None if other code did it.

    - The program's own code did it: that line.
    - A function of the standard library did it, such as `inspect.stack`: the line that called this function. Only the
      direct caller is looked at: where one function of the library calls another that does the act, there is no line.
    - Code that was made from a text did it: what the program handed to `exec` or `eval`, or a module that was handed in
      along with the program. Then it is the nearest line of the program that led there, by a call or an import.
    - Other code did it, or the grader called code made from a text: there is no line.

    Args:
        frame: stack frame in which the act was done.
        filename: the program's name in stack frames.
    """
    if frame is not None and any(frame.f_code is code for code in _HARMLESS_CODE):
        return None
    if frame is not None and _acts_for_its_caller(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is not None and _is_made_from_text(frame.f_code.co_filename):
        # Between here and the program, there may be the frames that import a module, or those of torch calling a hook.
        while frame is not None and frame.f_code.co_filename != filename:
            frame = frame.f_back
    if frame is None or frame.f_code.co_filename != filename:
        return None
    return frame.f_lineno


def _acts_for_its_caller(filename: str) -> bool:
    """Return True if acts of this file's code count as its caller's: a file of the standard library."""
    in_library = filename.startswith((_STANDARD_LIBRARY, "<frozen"))
    return in_library and not filename.startswith(_INSTALLED_PACKAGES)


def _is_made_from_text(filename: str) -> bool:
    """Return True for code that was made from a text: `<string>`, `<submission>`, `<submission/helper>`."""
    return filename.startswith("<") and not filename.startswith("<frozen")
