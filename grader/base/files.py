"""Write files atomically, and open files safely that somebody else may have replaced by a link or a device."""

import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path

from grader.base.errors import CommandError
from grader.base.names import closest


class NotRegular(OSError):
    """There is a link, pipe, device or folder where a regular file was expected."""


def require_file(file: Path) -> None:
    """Raise CommandError unless `file` is an existing file.

    Raises:
        CommandError: it is a folder, or does not exist.
    """
    if file.is_dir():
        raise CommandError(f"폴더예요: {file}. 파일 하나를 주세요. 반 전체는 grader grade {file}로 채점해요.")
    if not file.is_file():
        raise CommandError(f"파일이 없어요: {file}. {_close_file(file)}")


def _close_file(file: Path) -> str:
    """Return a Korean sentence on the file beside it whose name is most like it; if there is none, on the path."""
    try:
        beside = [one.name for one in file.parent.iterdir() if one.is_file()]
    except OSError:
        beside = []
    near = closest(file.name, beside)
    return "경로를 확인해 주세요." if near is None else f"혹시 {file.with_name(near)}인가요?"


def require_class(folder: Path) -> None:
    """Refuse a path that cannot be a class: a missing one, or a file.

    Raises:
        CommandError: it is no folder.
    """
    if folder.is_dir():
        return
    if os.path.lexists(folder):
        raise CommandError(
            f"폴더가 아니에요: {folder}. 파일 하나는 grader check로 확인하고,"
            " 채점하려면 학생들의 파일이 든 폴더를 알려 주세요."
        )
    raise CommandError(
        f"채점할 폴더가 없어요: {folder} (지금 폴더: {Path.cwd()}). ls로 경로를 확인해 주세요."
    )


def write_whole(path: Path, content: str | bytes | Iterable[str]) -> None:
    """Write a file atomically, through a temporary file beside it; missing folders are created.

    A reader finds either the old content or the new one, never half of it.

    Args:
        path: the file.
        content: bytes, or text, whole or in parts. Text is written as UTF-8, its line ends unchanged.

    Raises:
        OSError: the file cannot be written; the old content is still there.
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
    """Open an existing regular file, and nothing else: a pipe could block, a device act, a link lead elsewhere.

    Args:
        path: the file; if `dir_fd` is given, its name in that open folder.
        flags: access mode for `os.open`; it must not ask to create the file.
        dir_fd: descriptor of the open folder that holds the file.

    Returns:
        The descriptor of the open file; the caller closes it.

    Raises:
        NotRegular: there is something other than a regular file.
        OSError: the file cannot be opened.
    """
    if not stat.S_ISREG(os.stat(path, dir_fd=dir_fd, follow_symlinks=False).st_mode):
        # Checked before opening, which can have an effect on a device
        raise NotRegular(f"no regular file: {path}")
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):  # each exists on some systems only
        flags |= getattr(os, name, 0)
    fd = os.open(path, flags, dir_fd=dir_fd)
    if not stat.S_ISREG(os.fstat(fd).st_mode):  # it was replaced between the two calls
        os.close(fd)
        raise NotRegular(f"no regular file: {path}")
    return fd


def open_folder_below(root: Path, folder: Path) -> int:
    """Open `root` or a folder below it, one path component at a time, so that no link below `root` is followed.

    Checking the whole path first would not do, because somebody may put a link there afterwards.

    Args:
        root: a folder; links in the path to it are trusted.
        folder: `root`, or a path below it that begins with `root` as given.

    Returns:
        The descriptor of the open folder; the caller closes it.

    Raises:
        OSError: a component is not a folder (any more).
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
