"""Reads the checkpoint that `BestCheckpoint`, or a whole training run, has saved."""

from pathlib import Path
from typing import Any

from grader.observe.fixtures.checkpoints import plain, read_checkpoint
from grader.observe.recorder import Recorder

_KEYS = ("config", "model", "optimizer", "scheduler", "score", "step")
"""Keys that every checkpoint must hold."""


def recorded_content(recorder: Recorder, path: Path) -> dict[str, Any]:
    """The content of the file. Records as facts whether the file opened and which of these keys it holds."""
    content, how = read_checkpoint(path)
    recorder.fact("파일", how)
    recorder.fact("키", plain([key for key in _KEYS if key in content]))
    return content
