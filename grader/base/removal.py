"""Remove folders that somebody else filled, however deep they are and whatever their permissions, without raising.

`shutil.rmtree` of Python 3.11 recurses for each level, and a student can hand in a folder deep enough to crash it.
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

from grader.base.package import TEMPORARY_PREFIX

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
    """Create a temporary folder, and remove it with everything in it at the end.

    Raises:
        OSError: no folder can be created.
    """
    folder = tempfile.mkdtemp(prefix=TEMPORARY_PREFIX)
    try:
        yield Path(folder)
    finally:
        remove_tree(folder)


def remove_tree(top: str | Path) -> bool:
    """Remove a folder with everything in it; return True if it is gone. Never raises, and follows no link.

    A nested folder is emptied by moving its own subfolders up beside it. So no path grows, and at most two folders are
    open at a time.
    """
    with suppress(OSError, RecursionError):
        if not stat.S_ISDIR(os.lstat(top).st_mode):
            return False
        if _BY_DESCRIPTOR:
            _empty(top)
            os.rmdir(top)
        else:
            shutil.rmtree(top, ignore_errors=True)
    return not os.path.lexists(top)


def _empty(top: str | Path) -> None:
    """Empty the folder `top`, working through a queue of its entries, to which nested folders are moved."""
    opened = _opened(top)
    try:
        names = deque(os.listdir(opened))
        fresh = (f".{token_hex(8)}.{number}" for number in count())
        while names:
            name = names.popleft()
            # An entry that cannot be removed must not keep the others from being removed
            with suppress(OSError):
                if not _removed_if_flat(name, opened):
                    names.extend(_moved_up(name, opened, fresh))
                    os.rmdir(name, dir_fd=opened)
    finally:
        os.close(opened)


def _removed_if_flat(name: str, parent: int) -> bool:
    """Remove an entry that is a file or an empty folder; return True if it is gone."""
    if not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=parent)
        return True
    with suppress(OSError):
        os.rmdir(name, dir_fd=parent)
        return True
    return False


def _moved_up(name: str, top: int, fresh: Iterator[str]) -> list[str]:
    """Empty the folder `name` in `top`; move its non-empty subfolders to `top` and return their new names there."""
    moved = []
    folder = _opened(name, top)
    try:
        for inner in os.listdir(folder):
            with suppress(OSError):
                if not _removed_if_flat(inner, folder):
                    new = next(fresh)
                    _moved(inner, folder, new, top)
                    moved.append(new)
    finally:
        os.close(folder)
    return moved


def _moved(name: str, folder: int, new: str, top: int) -> None:
    """Move the folder `name` in `folder` to `new` in `top`."""
    try:
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=top)
    except PermissionError:  # moving a folder writes to it, because its `..` changes: make it writable first
        os.close(_opened(name, folder))
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=top)


def _opened(name: str | Path, parent: int | None = None) -> int:
    """Open a folder and give us all rights to it.

    Raises:
        OSError: it is not a folder, or not ours.
    """
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
