"""Read single keys from a terminal, without blocking and without Enter."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_HANGUL = str.maketrans("ㅁㅠㅊㅇㄷㄹㅎㅗㅑㅓㅏㅣㅡㅜㅐㅔㅂㄱㄴㅅㅕㅍㅈㅌㅛㅋ", "abcdefghijklmnopqrstuvwxyz")
"""What the same keys type on a Korean keyboard in Hangul mode -> the Latin letter on them."""


def latin(typed: str) -> str:
    """Return keys typed in Hangul mode as the Latin letters on them; anything else stays."""
    return typed.translate(_HANGUL)


@contextmanager
def pressed_keys() -> Iterator[Callable[[], str]]:
    """Yield a function that returns the keys pressed since its last call, as lower-case Latin letters.

    It always returns an empty string if the input is not a terminal. On exit the terminal's settings are restored.
    """
    if not sys.stdin.isatty():
        yield lambda: ""
        return
    with _posix() if os.name == "posix" else _windows() as read:
        yield lambda: latin(read().lower())


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
        tty.setcbreak(terminal, termios.TCSADRAIN)  # the default drops the keys that were pressed before
        yield read
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


@contextmanager
def _windows() -> Iterator[Callable[[], str]]:
    import importlib

    console: Any = importlib.import_module("msvcrt")  # has type stubs on Windows only

    def read() -> str:
        found = ""
        while console.kbhit():
            found += console.getwch()
        return found

    yield read
