"""Single keys from a terminal, without waiting for one and without Enter."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_HANGUL = str.maketrans("ㅜㅗㄱㅂ", "nhrq")
"""What the same keys type on a Korean keyboard in its Hangul mode."""


@contextmanager
def pressed_keys() -> Iterator[Callable[[], str]]:
    """Inside this context a function that returns the keys pressed since its last call, as small Latin letters.

    Always none where the input is no terminal. The terminal is left as it was found.
    """
    if not sys.stdin.isatty():
        yield lambda: ""
        return
    with _posix() if os.name == "posix" else _windows() as read:
        yield lambda: read().lower().translate(_HANGUL)


@contextmanager
def _posix() -> Iterator[Callable[[], str]]:
    import select
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)

    def read() -> str:
        if not select.select([terminal], [], [], 0)[0]:
            return ""
        return os.read(terminal, 64).decode("utf-8", "ignore")

    try:
        tty.setcbreak(terminal)
        yield read
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


@contextmanager
def _windows() -> Iterator[Callable[[], str]]:
    import importlib

    console: Any = importlib.import_module("msvcrt")  # typed on Windows only

    def read() -> str:
        found = ""
        while console.kbhit():
            found += console.getwch()
        return found

    yield read
