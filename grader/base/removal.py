"""Removes folders that others filled: however deep they are, whatever may be read in them, without ever raising.

Python 3.11's own remover calls itself for each level, and dies of what one student can hand in.
"""

import os
import shutil
import stat
import tempfile
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from secrets import token_hex

_BY_DESCRIPTOR = {
    os.open,
    os.stat,
    os.unlink,
    os.rmdir,
    os.rename,
} <= os.supports_dir_fd and os.scandir in os.supports_fd
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that goes at the end with all that is in it.

    Raises:
        OSError: none can be made.
    """
    folder = tempfile.mkdtemp(prefix="hanstep-")
    try:
        yield Path(folder)
    finally:
        remove_tree(folder)


def remove_tree(top: str | Path) -> bool:
    """Remove a folder with all that is in it; whether it is gone. Never raises, and follows no link.

    A folder within is emptied by moving its own folders up beside it: no path grows, and two are open at a time.
    """
    with suppress(OSError, RecursionError):
        if not stat.S_ISDIR(os.lstat(top).st_mode):
            return False
        if _BY_DESCRIPTOR:
            _emptied(top)
            os.rmdir(top)
        else:
            shutil.rmtree(top, ignore_errors=True)
    return not os.path.lexists(top)


def _emptied(top: str | Path) -> None:
    opened = _opened(top)
    try:
        names = deque(os.listdir(opened))
        fresh = (f".{token_hex(8)}.{number}" for number in count())
        while names:
            name = names.popleft()
            with suppress(OSError):  # one that cannot go leaves the others their turn
                if not _gone(name, opened):
                    names.extend(_moved_up(name, opened, fresh))
                    os.rmdir(name, dir_fd=opened)
    finally:
        os.close(opened)


def _gone(name: str, parent: int) -> bool:
    """Remove what is no folder, or an empty one."""
    if not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=parent)
        return True
    with suppress(OSError):
        os.rmdir(name, dir_fd=parent)
        return True
    return False


def _moved_up(name: str, top: int, fresh: Iterator[str]) -> list[str]:
    """Empty a folder in `top`; the new names there of the folders that were in it and hold something."""
    moved = []
    folder = _opened(name, top)
    try:
        for inner in os.listdir(folder):
            with suppress(OSError):
                if not _gone(inner, folder):
                    new = next(fresh)
                    _moved(inner, folder, new, top)
                    moved.append(new)
    finally:
        os.close(folder)
    return moved


def _moved(name: str, folder: int, new: str, top: int) -> None:
    try:
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=top)
    except PermissionError:  # a folder that moves is written to: its `..` changes
        os.close(_opened(name, folder))
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=top)


def _opened(name: str | Path, parent: int | None = None) -> int:
    """Open a folder, and make it one that we may read and change; it is ours, or that fails."""
    try:
        folder = os.open(name, _FOLDER, dir_fd=parent)
    except PermissionError:
        if not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            raise
        os.chmod(name, stat.S_IRWXU, dir_fd=parent)
        folder = os.open(name, _FOLDER, dir_fd=parent)
    with suppress(OSError):
        if os.fstat(folder).st_mode & stat.S_IRWXU != stat.S_IRWXU:
            os.fchmod(folder, stat.S_IRWXU)
    return folder
