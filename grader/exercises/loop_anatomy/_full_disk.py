"""Simulate a disk that fills up while `torch.save` writes a checkpoint, for the driver `best_checkpoint.py`."""

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
        student: the learner's function or class, in whose module `save` is replaced too if that imported it by name.
    """
    original = torch.save

    # The parameters have the names that torch gives them, because a learner may pass them by name.
    def save_half_then_fail(obj: Any, f: Any, *args: Any, **kwargs: Any) -> None:
        buffer = io.BytesIO()
        original(obj, buffer, *args, **kwargs)
        whole = buffer.getvalue()
        half = whole[: len(whole) // 2]
        if isinstance(f, str | os.PathLike):
            Path(f).write_bytes(half)
        else:
            f.write(half)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with replaced(student, torch, "save", save_half_then_fail):
        yield
