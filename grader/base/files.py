"""Files that others read, or may have put there: written whole or not at all, opened only where they are files."""

import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path


class NotRegular(OSError):
    """A link, pipe, device or folder stands where a file was looked for."""


def write_whole(path: Path, content: str | bytes | Iterable[str]) -> None:
    """Write through a temporary file beside it; folders that are missing are made.

    Whoever reads it finds the old content or the new, never half of it.

    Args:
        path: the file.
        content: bytes as they are; text, whole or in parts, as UTF-8, its line ends as they are.

    Raises:
        OSError: it cannot be written; what was there before is still there.
    """
    parts = [content] if isinstance(content, str | bytes) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{secrets.token_hex(6)}.tmp")
    try:
        with temporary.open("xb") as file:
            for part in parts:
                file.write(part.encode("utf-8") if isinstance(part, str) else part)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def open_regular(path: str | Path, flags: int = os.O_RDONLY, *, dir_fd: int | None = None) -> int:
    """Open a file; nothing that could make us wait (a pipe), act (a device) or go elsewhere (a link).

    Args:
        path: the file; where `dir_fd` is given, its name in that open folder.
        flags: `os.O_RDONLY` or another; nothing is created.
        dir_fd: of the folder it stands in.

    Returns:
        The open file, to be closed by the caller.

    Raises:
        NotRegular: it is no regular file.
        OSError: it cannot be opened.
    """
    if not stat.S_ISREG(os.stat(path, dir_fd=dir_fd, follow_symlinks=False).st_mode):
        raise NotRegular(f"no regular file: {path}")  # opening a device can already have an effect
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):  # each exists on some systems only
        flags |= getattr(os, name, 0)
    fd = os.open(path, flags, dir_fd=dir_fd)
    if not stat.S_ISREG(os.fstat(fd).st_mode):  # it was exchanged in between
        os.close(fd)
        raise NotRegular(f"no regular file: {path}")
    return fd


def open_folder_below(root: Path, folder: Path) -> int:
    """Open `root`, or a folder below it, step by step and through no link: somebody may put one there while we look.

    Args:
        root: a folder; the way to it is trusted.
        folder: `root` or below it, spelt like it.

    Returns:
        The open folder, to be closed by the caller.

    Raises:
        OSError: one of the steps is no folder (any more).
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(root, flags)
    for part in folder.relative_to(root).parts:
        try:
            inner = os.open(part, flags, dir_fd=fd)
        finally:
            os.close(fd)
        fd = inner
    return fd
