"""Observe how a checkpoint's old file is replaced by the new one: by a rename or in place, and in which order.

`_checkpoint_file.py watched_replacement` uses both functions, and records what they saw.
"""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.exercises.fixtures.stand_ins import replaced


@dataclass
class SeenRenames:
    """What was seen of renames to the checkpoint's path."""

    old_was_gone: list[bool] = field(default_factory=list)
    """For each rename that was not refused: True if there was no file at the path just before it."""
    came_from_another_folder: bool = False
    """True if a rename was refused because its file was outside the checkpoint's folder."""


@contextmanager
def watched_renames(student: Any, path: Path) -> Iterator[SeenRenames]:
    """Watch renames to `path` by `os.rename` and `os.replace`, and refuse those from outside the folder of `path`.

    A refused rename fails as if the file were on another file system, as temporary folders are on many machines.

    Args:
        student: the learner's function or class, in whose module names of the functions are replaced too.
        path: the checkpoint's absolute path.
    """
    seen = SeenRenames()
    originals = {name: getattr(os, name) for name in ("rename", "replace")}

    def watched(rename: Callable[..., None]) -> Callable[..., None]:
        def watched_rename(src: Any, dst: Any, **kwargs: Any) -> None:
            # With `src_dir_fd` or `dst_dir_fd`, paths may be relative to another folder: such renames are not watched.
            if not kwargs and os.path.abspath(os.fsdecode(dst)) == str(path):
                if not Path(os.path.abspath(os.fsdecode(src))).is_relative_to(path.parent):
                    seen.came_from_another_folder = True
                    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), src, None, dst)
                seen.old_was_gone.append(not path.exists())
            rename(src, dst, **kwargs)

        return watched_rename

    with ExitStack() as stack:
        for name, original in originals.items():
            stack.enter_context(replaced(student, os, name, watched(original)))
        yield seen


def make_unchanged_check(path: Path, link: Path) -> Callable[[], bool]:
    """Return a function that returns True as long as nobody has written into the file that is now at `path`.

    The file gets a second name, a hard link. If a program replaces it at `path` by another file, the old one lives on
    under its second name. If a program writes into the old one, its content changes under both names. Where there is no
    file yet, or hard links cannot be made, the function returns True if there is a file at `path`.

    Args:
        path: the file that may be replaced.
        link: its second name.
    """
    try:
        before = path.read_bytes()
        os.link(path, link)
    except OSError:  # no such file, or a file system without hard links
        return path.exists
    return lambda: link.read_bytes() == before
