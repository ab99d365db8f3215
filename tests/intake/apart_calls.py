"""What `test_apart` has the child do: it imports functions by their names."""

import os
import signal
import sys
import time
from pathlib import Path

import grader.base.errors


def pid() -> int:
    return os.getpid()


def modules() -> list[str]:
    return sorted(sys.modules)


def dies() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def dies_once(mark: Path) -> str:
    """As where those before left too little memory."""
    if not mark.exists():
        mark.touch()
        dies()
    return "read"


def takes_memory(mark: Path | None = None) -> int:
    if mark is not None and mark.exists():
        return 0
    if mark is not None:
        mark.touch()
    return len(bytearray(3 * 2**30))


def computes_on() -> None:
    while True:
        pass


def sleeps() -> None:
    time.sleep(60)


def recurses() -> None:
    recurses()


def complains() -> None:
    raise grader.base.errors.CommandError("고칠 수 있어요.")


def fills_the_disk() -> None:
    raise OSError(28, "No space left on device", "there")


def returns_what_does_not_travel() -> object:
    return lambda: None
