"""Files, notebooks and folders as students hand them in, and how the tests read them."""

import json
from pathlib import Path

from grader.submission.source_file import SourceFile
from grader.submission.submission import Submission, read_submission

EXERCISES = ("train_step", "accumulate")
STEP = "def train_step(model):\n    return 1\n"


def code(source: str | list[str], *tags: str) -> dict[str, object]:
    return {"cell_type": "code", "source": source, "metadata": {"tags": list(tags)}, "outputs": []}


def markdown(source: str) -> dict[str, object]:
    return {"cell_type": "markdown", "source": source, "metadata": {}}


def notebook(*cells: dict[str, object]) -> str:
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": list(cells)})


def read(path: Path, content: str | bytes) -> SourceFile:
    """The only file of a submission that consists of it."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    submission = read_submission(path, EXERCISES)
    assert submission.unreadable == ()
    (file,) = submission.files
    return file


def kept(file: SourceFile) -> list[str]:
    return [line for line in file.text.splitlines() if line]


def make(root: Path, *paths: str, content: str = STEP) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)


def names(submission: Submission) -> list[str]:
    return [file.name for file in submission.files]
