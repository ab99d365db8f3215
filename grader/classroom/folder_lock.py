"""One command at a time writes into a report's folder: a lock that goes with its process, however that ends."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from grader.base.errors import HanstepError
from grader.report.plain_text import one_line

NAME = ".lock"
_MOST_BYTES = 200
_BEHIND = 2**20
"""The byte that is locked on Windows, where what is locked cannot be read."""


class Busy(HanstepError):
    """Another command writes there; the message is Korean and says which and what to do."""


@contextmanager
def alone_in(out: Path, advice: str) -> Iterator[None]:
    """Have a folder to oneself; it is made, and goes again where nothing was put into it.

    Where the file system knows no locks, nothing is locked.

    Args:
        out: the folder.
        advice: Korean, what to do where somebody else has it.

    Raises:
        Busy: somebody else has it.
        OSError: it cannot be made or written.
    """
    made = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    file = _locked(out / NAME, out, advice)
    try:
        os.ftruncate(file, 0)
        os.write(file, f"프로세스 {os.getpid()}, {datetime.now():%Y-%m-%d %H:%M}에 시작".encode())
        yield
    finally:
        with suppress(OSError):
            (out / NAME).unlink()  # while it is ours
        os.close(file)
        if made:
            with suppress(OSError):
                out.rmdir()


def _locked(path: Path, out: Path, advice: str) -> int:
    """The lock's file, open; closing it gives it back."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    while True:
        file = os.open(path, flags, 0o644)
        if not _lock(file):
            holder = one_line(os.read(file, _MOST_BYTES).decode("utf-8", "replace"), _MOST_BYTES)
            os.close(file)
            raise Busy(f"다른 채점이 이 폴더에 결과를 쓰고 있어요: {out} ({holder or '방금 시작'}). {advice}")
        with suppress(OSError):
            if os.path.samestat(os.fstat(file), os.stat(path)):
                return file
        os.close(file)  # whoever had it has removed it meanwhile


if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> bool:
        os.lseek(file, _BEHIND, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(file, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def _lock(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # there are no locks on this file system
            return True
        return True
