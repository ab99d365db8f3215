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
    """Make `torch.save` write half of the file and then raise an OSError, inside this context.

    Args:
        student: the learner's function or class; its module may have imported `save` by name.
    """
    original = torch.save

    def save_half_then_fail(content: Any, target: Any, *args: Any, **kwargs: Any) -> None:
        buffer = io.BytesIO()
        original(content, buffer, *args, **kwargs)
        whole = buffer.getvalue()
        half = whole[: len(whole) // 2]
        if isinstance(target, str | os.PathLike):
            Path(target).write_bytes(half)
        else:
            target.write(half)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with replaced(student, torch, "save", save_half_then_fail):
        yield
