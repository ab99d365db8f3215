"""Merge a new edition of a lesson into a learner's notebook, cell by cell; what the learner wrote stays.

Three editions are compared by the ids of their cells: the learner's, the new one, and the one that the learner's began
as (the base of the merge), of which only a digest of each cell is kept. For example, a cell whose text differs from the
base was changed by the learner and stays; if its text equals the base, the new edition's text replaces it; a cell of
the base that the learner has deleted does not come back, unless it is an exercise's.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from grader.course.exercise_cell import exercise_of
from grader.submission.practice_cells import practised

Digests = dict[str, str]
"""SHA-256 of each cell's source, by cell id."""


@dataclass(frozen=True)
class Merged:
    """The merged notebook, and what became of the cells."""

    notebook: Any
    kept: int
    """Number of the course's cells that the learner had changed, and that were kept."""
    renewed: int
    """Number of cells replaced because nobody had changed them, or that are new in this edition."""
    behind: tuple[str, ...]
    """Ids of kept cells whose text has changed in the course."""


def digests(notebook: Any) -> Digests:
    """Return the digests of a notebook's cells."""
    return {cell.id: cell_digest(cell) for cell in notebook.cells if "id" in cell}


def can_merge(mine: Any, new: Any) -> bool:
    """Return True if the learner's cells can be identified by their ids; some editors drop ids, or make new ones."""
    known = {cell.id for cell in new.cells}
    exercises = {name for cell in new.cells if (name := exercise_of(cell)) is not None}
    # Cells that drills and the clinic added need no id: no edition has them.
    ids = [
        cell.get("id")
        for cell in mine.cells
        if cell.get("id") in known or cell.cell_type != "code" or not practised(cell.source, exercises)
    ]
    return None not in ids and len(set(ids)) == len(ids) and 2 * sum(i in known for i in ids) >= len(ids)


def merge(mine: Any, new: Any, began_as: Mapping[str, str] | None) -> Merged:
    """Put the learner's cells into the new edition.

    Args:
        mine: the learner's notebook, as nbformat reads it.
        new: the course's new edition.
        began_as: `digests` of the edition that the learner's began as. None if not known: then every code cell that
            differs from the new edition's counts as changed by the learner.
    """
    theirs = {cell.id: cell for cell in mine.cells}
    cells, kept, renewed, behind = [], 0, 0, []
    for cell in new.cells:
        own = theirs.get(cell.id)
        if own is None:
            if began_as is None or cell.id not in began_as or exercise_of(cell) is not None:
                renewed += 1
                cells.append(cell)
            continue  # otherwise the learner has deleted it
        if own.source == cell.source:
            cells.append(_with_new_tags(cell, own))
        elif _is_changed(own, began_as):
            kept += 1
            if began_as is None or began_as.get(cell.id) != cell_digest(cell):
                behind.append(cell.id)
            cells.append(_with_new_tags(cell, own))
        else:
            renewed += 1
            cells.append(cell)
    notebook = new.copy()
    notebook.metadata = {**new.metadata, **mine.metadata}
    notebook.cells = _with_added_cells(cells, mine.cells, {cell.id for cell in new.cells}, began_as)
    return Merged(notebook, kept, renewed, tuple(behind))


def _with_added_cells(
    cells: list[Any], mine: Iterable[Any], known: set[str], began_as: Mapping[str, str] | None
) -> list[Any]:
    """Insert the cells that the learner added, each after the cell that it followed."""
    before: str | None = None
    for own in mine:
        if own.id not in known and ((began_as or {}).get(own.id) != cell_digest(own)):
            place = next((n + 1 for n, cell in enumerate(cells) if cell.id == before), 0)
            cells.insert(place, own)
        if any(cell.id == own.id for cell in cells):
            before = own.id
    return cells


def _is_changed(own: Any, began_as: Mapping[str, str] | None) -> bool:
    """Return True if the learner has changed a cell; with the base unknown, True for every code cell."""
    if began_as is None:
        return bool(own.cell_type == "code")
    return began_as.get(own.id) != cell_digest(own)


def _with_new_tags(cell: Any, own: Any) -> Any:
    """Return the learner's cell, text and outputs included, with the new edition's tags."""
    own.metadata = {**own.metadata, **cell.metadata}
    return own


def cell_digest(cell: Any) -> str:
    """Return the SHA-256 of a cell's source."""
    return hashlib.sha256(cell.source.encode("utf-8", "surrogatepass")).hexdigest()
