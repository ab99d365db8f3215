"""Simulate a disk that fills up while a checkpoint is saved, and observe how the old file is replaced."""

import errno
import io
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from grader.exercises.fixtures.stand_ins import replaced


@contextmanager
def full_disk(student: Any) -> Iterator[None]:
    """Inside this context, `torch.save` writes half of the file and then fails."""
    save = torch.save

    def half(content: Any, target: Any, *args: Any, **kwargs: Any) -> None:
        buffer = io.BytesIO()
        save(content, buffer, *args, **kwargs)
        written = buffer.getvalue()[: len(buffer.getvalue()) // 2]
        if isinstance(target, str | os.PathLike):
            Path(target).write_bytes(written)
        else:
            target.write(written)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with replaced(student, torch, "save", half):
        yield


@dataclass
class Renames:
    """How files were renamed to the checkpoint's name."""

    gaps: list[bool] = field(default_factory=list)
    """For each rename: True if the old checkpoint was gone by then."""
    elsewhere: bool = False
    """True if a file to be renamed was outside the checkpoint's folder."""


@contextmanager
def renaming(student: Any, path: Path) -> Iterator[Renames]:
    """Watch what is renamed to `path`.

    Files outside the checkpoint's folder cannot be renamed into it, as if they were on another file system.
    """
    seen = Renames()
    originals = {name: getattr(os, name) for name in ("rename", "replace")}

    def watched(rename: Callable[..., None]) -> Callable[..., None]:
        def renamed(src: Any, dst: Any, **kwargs: Any) -> None:
            if not kwargs and os.path.abspath(os.fsdecode(dst)) == str(path):
                if not Path(os.path.abspath(os.fsdecode(src))).is_relative_to(path.parent):
                    seen.elsewhere = True
                    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), src, None, dst)
                seen.gaps.append(not path.exists())
            rename(src, dst, **kwargs)

        return renamed

    with ExitStack() as stack:
        for name, original in originals.items():
            stack.enter_context(replaced(student, os, name, watched(original)))
        yield seen


def change_detector(path: Path, link: Path) -> Callable[[], bool]:
    """Make a hard link to the file as it is now; return a function that returns True while its content is unchanged.

    The link keeps the file when `path` is replaced, and shows when it is written in place. Without a file, or where
    hard links cannot be made, the function returns True while a file exists at `path`.
    """
    try:
        before = path.read_bytes()
        os.link(path, link)
    except OSError:  # no such file, or a file system without hard links
        return path.exists
    return lambda: link.read_bytes() == before
