"""Lock a report's folder, so that one command at a time writes into it.

The operating system releases the lock when the process ends, however that happens.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from grader.base.errors import HanstepError
from grader.report.plain_text import one_line

NAME = ".lock"
_MOST_BYTES = 200
"""Maximum bytes read of the lock file's text, which names the process that holds the lock."""
_LOCKED_BYTE = 2**20
"""Offset of the byte that is locked on Windows, where a locked range cannot be read: it lies behind the text."""


class Busy(HanstepError):
    """Another command writes into the folder; the message is Korean and names that command's process and the remedy."""


@contextmanager
def locked_folder(out: Path, advice: str) -> Iterator[Callable[[str], None]]:
    """Hold the lock of a folder, which is created if missing, and removed at the end if it was created and is empty.

    If the file system does not support locks, nothing is locked. Yields what notes in Korean how far the holder is, for
    those who find the folder locked.

    Args:
        out: the folder.
        advice: Korean advice for the case that another command holds the lock.

    Raises:
        Busy: another command holds the lock.
        OSError: the folder cannot be created or written.
    """
    made = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    file = _locked(out / NAME, out, advice)
    try:
        begun = f"프로세스 {os.getpid()}, {datetime.now():%Y-%m-%d %H:%M}에 시작"

        def note(how_far: str) -> None:
            os.lseek(file, 0, os.SEEK_SET)
            os.ftruncate(file, 0)
            os.write(file, ", ".join(filter(None, (begun, how_far))).encode())

        note("")
        yield note
    finally:
        with suppress(OSError):
            (out / NAME).unlink()  # while the lock is still ours
        os.close(file)
        if made:
            with suppress(OSError):
                out.rmdir()


def holder_of(out: Path) -> str:
    """Return in Korean which process holds a folder's lock, since when, and how far it is; empty if none does."""
    try:
        file = os.open(out / NAME, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return ""
    try:
        return "" if try_lock(file) else _text_in(file)
    finally:
        os.close(file)


def _text_in(file: int) -> str:
    """Return what the holder of a lock has written into its file."""
    told = one_line(os.read(file, _MOST_BYTES).decode("utf-8", "replace"), _MOST_BYTES)
    return told or "방금 시작"


def _locked(path: Path, out: Path, advice: str) -> int:
    """Open and lock the lock file and return its descriptor; closing it releases the lock.

    Raises:
        Busy: another command holds the lock.
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    while True:
        file = os.open(path, flags, 0o644)
        if not try_lock(file):
            holder = _text_in(file)
            os.close(file)
            raise Busy(f"다른 채점이 이 폴더에 결과를 쓰고 있어요: {out} ({holder}). {advice}")
        with suppress(OSError):
            if os.path.samestat(os.fstat(file), os.stat(path)):
                return file
        os.close(file)  # the former holder has removed this file meanwhile: try again with a new one


if sys.platform == "win32":
    import msvcrt

    def try_lock(file: int) -> bool:
        """Lock an open file; return False if another process holds its lock."""
        os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(file, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def try_lock(file: int) -> bool:
        """Lock an open file; return False if another process holds its lock."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # there are no locks on this file system
            return True
        return True
