"""Keep track of a learner's folder: which editions were copied into it, backups, and reading its notebooks."""

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
"""File in the learner's folder with the SHA-256 of each copied notebook and template, as last copied or offered.

A name in it is the file's path below the folder, such as `01_five_line_step/1_five_lines.ipynb`.
"""

CELLS = ".hanstep-cells.json"
"""File beside it with digests of the cells of the edition that each notebook began as, by the same names."""

BACKUPS = "백업"
"""Folder of backups below the learner's folder."""

Report = Callable[[str], None]


class StartError(HanstepError):
    """The folder cannot be used as asked."""


class CopyRecord:
    """Record of the editions that were copied into a folder, stored in that folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = _read(folder / MANIFEST)
        self._cells = _read(folder / CELLS)

    def last(self, name: str) -> str | None:
        """Return the digest of the file as it was last copied or offered; None if never."""
        found = self._files.get(name)
        return found if isinstance(found, str) else None

    def began_as(self, name: str) -> Digests | None:
        """Return the digests of the cells that the learner's notebook began with; None if not known."""
        found = self._cells.get(name)
        return {str(i): str(d) for i, d in found.items()} if isinstance(found, dict) else None

    def note(self, name: str, digest: str) -> None:
        """Record that this edition was copied or offered."""
        self._files[name] = digest

    def note_start(self, name: str, source: Path) -> None:
        """Record that the learner's notebook of this name begins from the edition at `source` now."""
        if source.suffix == ".ipynb":
            self._cells[name] = digests(load(source))

    def save(self) -> None:
        """Write the record to the folder."""
        for name, content in ((MANIFEST, self._files), (CELLS, self._cells)):
            write_whole(self._folder / name, json.dumps(content, indent=1, sort_keys=True) + "\n")


def _read(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def free_name(path: Path, word: str) -> Path:
    """Return a path beside `path`, with `word` appended to its name, that does not exist yet."""
    candidates = (path.with_name(f"{path.stem}-{word}{n}{path.suffix}") for n in ("", *range(2, 10_000)))
    return next(candidate for candidate in candidates if not candidate.exists())


def back_up(notebook: Path) -> Path:
    """Copy a notebook into the folder of backups beside it, and return the copy's path."""
    folder = notebook.parent / BACKUPS
    folder.mkdir(exist_ok=True)
    backup = free_name(folder / notebook.name, time.strftime("%Y%m%d-%H%M%S"))
    write_whole(backup, notebook.read_bytes())
    return backup


def load(path: Path) -> Any:
    """Read a notebook with nbformat.

    Raises:
        StartError: the file is not a notebook.
    """
    nbformat: Any = importlib.import_module("nbformat")  # nbformat is only partly typed
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it repairs what it warns of: missing and duplicate ids
            return nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    except Exception as error:  # nbformat raises many kinds of errors for files that are not notebooks
        raise StartError(f"노트북으로 읽을 수 없어요: {path} ({type(error).__name__}).") from error
