"""What `start`, `update` and `split_notebook` share: the record of copied editions, backups, and reading notebooks.

The lessons themselves are copied by `start`, which also decides which files a learner's folder gets.
"""

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
"""File in the learner's folder: name -> SHA-256 of the course's edition that the file was last brought up to.

It is not the digest of the learner's file, which may have been changed since. `start` keeps an older edition noted as
long as the newer one lies unmerged beside the file. A name in it is the file's path below the folder, such as
`01_five_line_step/1_five_lines.ipynb`.
"""

CELLS = ".hanstep-cells.json"
"""File beside it: name -> cell id -> digest, of the edition that each notebook is based on: copied, or last merged."""

BACKUPS = "백업"
"""Folder of backups, beside the notebook that was backed up."""

Report = Callable[[str], None]
"""Gets one Korean line on what was done."""


class WorkspaceError(HanstepError):
    """A learner's folder, or a notebook in it, cannot be used as asked; the message is Korean."""


class CopyRecord:
    """Record of the editions that were copied into a folder, stored in that folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = _read(folder / MANIFEST)
        self._cells = _read(folder / CELLS)

    def last_edition(self, name: str) -> str | None:
        """Return the digest of the edition that was noted last for a file; None if none was."""
        found = self._files.get(name)
        return found if isinstance(found, str) else None

    def base_cells(self, name: str) -> Digests | None:
        """Return the digests of the cells of the edition that a notebook is based on; None if not known."""
        found = self._cells.get(name)
        return {str(i): str(d) for i, d in found.items()} if isinstance(found, dict) else None

    def note_edition(self, name: str, edition: str) -> None:
        """Record the digest of the edition that was copied, merged, or put beside a file."""
        self._files[name] = edition

    def note_base(self, name: str, source: Path) -> None:
        """Record the cells of `source`, on which a notebook is based now; do nothing if it is no notebook."""
        if source.suffix == ".ipynb":
            self._cells[name] = digests(load(source))

    def save(self) -> None:
        """Write the record to the folder."""
        for file_name, content in ((MANIFEST, self._files), (CELLS, self._cells)):
            write_whole(self._folder / file_name, json.dumps(content, indent=1, sort_keys=True) + "\n")


def _read(path: Path) -> dict[str, Any]:
    """Return a record; an empty one if it is missing or damaged: then no file counts as unchanged."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def free_name(path: Path, word: str) -> Path:
    """Return a path beside `path` that does not exist yet: `a-새판.ipynb`, then `a-새판2.ipynb`, for `a.ipynb`."""
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
        WorkspaceError: the file cannot be read, or is not a notebook.
    """
    nbformat: Any = importlib.import_module("nbformat")  # nbformat is only partly typed
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it repairs what it warns of: missing and duplicate ids
            return nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    except Exception as error:  # nbformat raises many kinds of errors for files that are not notebooks
        raise WorkspaceError(f"노트북으로 읽을 수 없어요: {path} ({type(error).__name__}).") from error
