"""Remove folders that somebody else filled, however deep they are and even if they may not be read or written.

`shutil.rmtree` of Python 3.11 recurses for each level, and a student can hand in a folder deep enough to crash it. It
also goes by paths, so that a link put in place of a folder meanwhile can lead it astray. Here, every step goes by the
descriptor of an open folder. Where the system cannot do that (Windows), `shutil.rmtree` is used, with these limits.
"""

import errno
import os
import shutil
import stat
import tempfile
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from grader.base.package import TEMPORARY_PREFIX

_BY_DESCRIPTOR = (
    {os.open, os.stat, os.unlink, os.rmdir, os.rename} <= os.supports_dir_fd
    and os.listdir in os.supports_fd
    and (hasattr(os, "O_PATH") or os.chmod in os.supports_dir_fd & os.supports_follow_symlinks)
)
"""Every step can go by the descriptor of an open folder; `_grant_rights` tells why one of the last two is needed."""
_FOLDER_FLAGS = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
"""Flags of `os.open` with which it opens folders only, and no links to folders."""


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Create a temporary folder, and remove it with everything in it at the end, as far as that is possible.

    If this process is killed before, `classroom/own_temporary_folder.py` finds the folder by the beginning of its name.

    Raises:
        OSError: no folder can be created.
    """
    folder = tempfile.mkdtemp(prefix=TEMPORARY_PREFIX)
    try:
        yield Path(folder)
    finally:
        remove_tree(folder)


def remove_tree(top: str | Path) -> bool:
    """Remove a folder with everything in it, as far as that is possible; a file or a link at `top` stays.

    No link inside the folder is followed, nor is `top`, if it is one; links in the path before its last part are.
    Nothing in other file systems that are mounted inside the folder is removed. Where `_BY_DESCRIPTOR` is False, this
    is not promised.

    Returns:
        True if nothing is at `top` afterwards, also if nothing was there before.
    """
    path = Path(top)  # without a slash at its end, with which a link would be followed
    name = path.name
    if not name:  # the root, or the current folder
        return False
    if not _BY_DESCRIPTOR:
        return _remove_by_path(path)
    try:
        parent_fd = os.open(path.parent, getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: the path has a null character
        return True
    except OSError:
        return False
    try:
        with suppress(OSError, ValueError):
            if stat.S_ISDIR(_status(name, parent_fd).st_mode):
                _empty_folder(name, parent_fd)
                os.rmdir(name, dir_fd=parent_fd)
        return _is_missing(name, parent_fd)
    finally:
        os.close(parent_fd)


def _remove_by_path(top: Path) -> bool:
    """Do the same as `remove_tree` with `shutil.rmtree`, which leaves folders that are too deep for its recursion."""
    with suppress(RecursionError, ValueError):
        shutil.rmtree(top, ignore_errors=True)  # does nothing for a file or a link
    return not os.path.lexists(top)


def _status(name: str, folder_fd: int) -> os.stat_result:
    """Return the status of an entry of an open folder: of a link, that of the link itself."""
    return os.stat(name, dir_fd=folder_fd, follow_symlinks=False)


def _is_missing(name: str, folder_fd: int) -> bool:
    """Return True if an open folder has no such entry."""
    try:
        _status(name, folder_fd)
    except (FileNotFoundError, ValueError):
        return True
    except OSError:
        return False
    return False


def _empty_folder(name: str, parent_fd: int) -> None:
    """Remove everything in the folder `name`, as far as that is possible.

    Folders inside its folders are moved up into it under new names, where they wait for their turn. So no path grows,
    and only a handful of folders are open at a time, however deep they are.
    """
    top_fd = _open_folder(name, parent_fd)
    try:
        waiting = deque(os.listdir(top_fd))
        while waiting:
            entry = waiting.popleft()
            # An entry that cannot be removed must not keep the others from being removed
            with suppress(OSError):
                if not _remove_file_or_empty_folder(entry, top_fd):
                    waiting.extend(_move_folders_up(entry, top_fd))
                    os.rmdir(entry, dir_fd=top_fd)
    finally:
        os.close(top_fd)


def _remove_file_or_empty_folder(name: str, folder_fd: int) -> bool:
    """Remove an entry of an open folder if it is no folder, or an empty one; return True if it is gone.

    Raises:
        OSError: it is a file that cannot be removed, or another file system is mounted there.
    """
    if not stat.S_ISDIR(_status(name, folder_fd).st_mode):
        os.unlink(name, dir_fd=folder_fd)
        return True
    try:
        os.rmdir(name, dir_fd=folder_fd)
    except OSError as error:
        # EBUSY, or what comes before it: a mounted folder, perhaps of the same device. What is in it is not ours.
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        return False
    return True


def _move_folders_up(name: str, top_fd: int) -> list[str]:
    """Empty the folder `name` of the open folder; return the new names in the latter of folders that were not empty."""
    new_names = []
    folder_fd = _open_folder(name, top_fd)
    try:
        for entry in os.listdir(folder_fd):
            with suppress(OSError):
                if not _remove_file_or_empty_folder(entry, folder_fd):
                    new_name = f".{token_hex(16)}"
                    _move_folder(entry, folder_fd, new_name, top_fd)
                    new_names.append(new_name)
    finally:
        os.close(folder_fd)
    return new_names


def _move_folder(name: str, folder_fd: int, new_name: str, new_folder_fd: int) -> None:
    """Move a folder from one open folder to another under a new name."""
    try:
        os.rename(name, new_name, src_dir_fd=folder_fd, dst_dir_fd=new_folder_fd)
    except PermissionError:  # moving a folder writes to it, because its `..` changes: make it writable first
        _grant_rights(name, folder_fd)
        os.rename(name, new_name, src_dir_fd=folder_fd, dst_dir_fd=new_folder_fd)


def _open_folder(name: str, parent_fd: int) -> int:
    """Open a folder and give us all rights to it, if it is ours; return its descriptor.

    Raises:
        OSError: it is no folder, it is gone, or we may not read it and it is not ours.
    """
    flags = os.O_RDONLY | _FOLDER_FLAGS
    try:
        folder_fd = os.open(name, flags, dir_fd=parent_fd)
    except PermissionError:
        _grant_rights(name, parent_fd)
        folder_fd = os.open(name, flags, dir_fd=parent_fd)
    with suppress(OSError):
        if os.fstat(folder_fd).st_mode & stat.S_IRWXU != stat.S_IRWXU:
            os.fchmod(folder_fd, stat.S_IRWXU)
    return folder_fd


def _grant_rights(name: str, parent_fd: int) -> None:
    """Give us all rights to a folder that we may not open.

    A link put in its place meanwhile must not lead to another file, whose rights would change. `O_PATH` opens a folder
    without any right to it. Linux cannot change the rights of what is open in this way, but under its name in /proc.

    Raises:
        OSError: it is no folder, it is gone, or it is not ours.
    """
    if not hasattr(os, "O_PATH"):
        os.chmod(name, stat.S_IRWXU, dir_fd=parent_fd, follow_symlinks=False)
        return
    folder_fd = os.open(name, os.O_PATH | _FOLDER_FLAGS, dir_fd=parent_fd)
    try:
        os.chmod(f"/proc/self/fd/{folder_fd}", stat.S_IRWXU)
    finally:
        os.close(folder_fd)
