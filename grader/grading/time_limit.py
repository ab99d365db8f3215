"""Stop code that runs too long in this process: an endless loop in a notebook cell must not force a kernel restart.

In the sandbox, other limits hold: `sandbox/client.py Limits`.
"""

import ctypes
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from grader.observe.play import TimeLimit

_REPEAT_SECONDS = 0.2
"""Time until the exception is raised again, in case the code swallowed it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeLimit` in this thread once `seconds` have passed, and again every 0.2 s until the context is left.

    In the main thread of a Unix process an alarm signal raises it, which interrupts system calls too. Elsewhere
    (Windows, other threads) a watchdog thread has the interpreter raise it between two bytecodes.
    """
    alarms = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    with _by_alarm(seconds) if alarms else _by_watchdog(seconds):
        yield


@contextmanager
def _by_alarm(seconds: float) -> Iterator[None]:
    """Raise `TimeLimit` by an alarm signal; works in the main thread of a Unix process only."""

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise TimeLimit

    previous = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, _REPEAT_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


@contextmanager
def _by_watchdog(seconds: float) -> Iterator[None]:
    """Raise `TimeLimit` from a second thread; it arrives between two bytecodes, not inside a system call."""
    target = threading.get_ident()
    over = threading.Event()

    def watch() -> None:
        wait = seconds
        while not over.wait(wait):
            raise_in_thread = ctypes.pythonapi.PyThreadState_SetAsyncExc
            raise_in_thread(ctypes.c_ulong(target), ctypes.py_object(TimeLimit))
            wait = _REPEAT_SECONDS

    watchdog = threading.Thread(target=watch, daemon=True)
    watchdog.start()
    try:
        yield
    finally:
        over.set()
        watchdog.join()
