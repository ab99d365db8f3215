"""A learner's folder: what was copied into it, backups, and its notebooks."""

import hashlib
import importlib
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grader.base.errors import HanstepError
from grader.base.files import write_whole
from grader.workspace.merge_notebooks import Digests, digests

MANIFEST = ".hanstep.json"
"""In the learner's folder: SHA-256 of each lesson, and of each file beside them, as it was last copied."""

CELLS = ".hanstep-cells.json"
"""Beside it: by lesson the digest of each cell of the edition that the learner's notebook began as."""

BACKUPS = "백업"
"""Folder below the learner's."""

Report = Callable[[str], None]


class StartError(HanstepError):
    """The folder cannot be used as asked."""


class Copied:
    """What was copied into a folder, kept in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = _read(folder / MANIFEST)
        self._cells = _read(folder / CELLS)

    def last(self, name: str) -> str | None:
        """Digest of the file as it was last copied, or last offered."""
        found = self._files.get(name)
        return found if isinstance(found, str) else None

    def began_as(self, file: str) -> Digests | None:
        """Digests of the cells that the learner's notebook began with; None where that is not known."""
        found = self._cells.get(file)
        return {str(i): str(d) for i, d in found.items()} if isinstance(found, dict) else None

    def note(self, name: str, digest: str) -> None:
        """This edition is known to the learner."""
        self._files[name] = digest

    def begins(self, source: Path) -> None:
        """The learner's notebook is this edition now."""
        if source.suffix == ".ipynb":
            self._cells[source.name] = digests(load(source))

    def save(self) -> None:
        """Write it down."""
        for name, content in ((MANIFEST, self._files), (CELLS, self._cells)):
            write_whole(self._folder / name, json.dumps(content, indent=1, sort_keys=True) + "\n")


def _read(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def free_name(path: Path, word: str) -> Path:
    """A name beside `path` that nothing has yet."""
    candidates = (path.with_name(f"{path.stem}-{word}{n}{path.suffix}") for n in ("", *range(2, 10_000)))
    return next(candidate for candidate in candidates if not candidate.exists())


def back_up(notebook: Path) -> Path:
    """Copy a notebook into the folder of backups; the copy."""
    folder = notebook.parent / BACKUPS
    folder.mkdir(exist_ok=True)
    backup = free_name(folder / notebook.name, time.strftime("%Y%m%d-%H%M%S"))
    write_whole(backup, notebook.read_bytes())
    return backup


def load(path: Path) -> Any:
    """A notebook, as nbformat reads it.

    Raises:
        StartError: it is none.
    """
    nbformat: Any = importlib.import_module("nbformat")  # Any: it is only partly typed
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it mends what it warns of: ids that are missing or there twice
            return nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    except Exception as error:  # nbformat goes wrong in many ways over what is no notebook
        raise StartError(f"노트북으로 읽을 수 없어요: {path} ({type(error).__name__}).") from error
