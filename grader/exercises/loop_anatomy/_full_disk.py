"""Simulate a disk that fills up while a checkpoint is saved."""

import errno
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from grader.exercises.fixtures.stand_ins import replaced


@contextmanager
def full_disk(student: Any) -> Iterator[None]:
    """Inside this context, `torch.save` writes half of the file and then fails.

    Args:
        student: the student's function or class; its module may have imported `save` by name.
    """
    save = torch.save

    def save_half_then_fail(content: Any, target: Any, *args: Any, **kwargs: Any) -> None:
        buffer = io.BytesIO()
        save(content, buffer, *args, **kwargs)
        written = buffer.getvalue()[: len(buffer.getvalue()) // 2]
        if isinstance(target, str | os.PathLike):
            Path(target).write_bytes(written)
        else:
            target.write(written)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with replaced(student, torch, "save", save_half_then_fail):
        yield
