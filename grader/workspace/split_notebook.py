"""Bring answers over from the single notebook that a lesson used to be, into the notebooks of its parts.

The course's own cells come from the new edition. What the learner wrote goes along: the cells of exercises, the cells
that the learner added, and the course's cells that the learner changed. The last two kinds stand behind the exercise
that they followed. For example, of the cells

    text, exercise:train_step (answered), a note, exercise:fit (answered)

the first part, which holds `train_step`, gets that answer and then the note; a later part gets `fit`.
"""

import importlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.base.files import write_whole
from grader.course.course import Course, Part
from grader.course.exercise_cell import exercise_of
from grader.workspace.folder import CopyRecord, Report, WorkspaceError, back_up, file_digest, load
from grader.workspace.merge_notebooks import Digests, cell_digest

_OF_COURSE = re.compile(
    r"(markdown|code|predict|folded|check|hint|exercise|install|extra|measured)(-[\w-]+)?"
)
"""Matches the ids that `grader build` gives to cells; JupyterLab's are random."""
_CALL = re.compile(r"(check|hint|predict|reveal)\([^()]*\)")
"""Matches a call of one of the course's functions, such as for a hint."""


def bring_over(course: Course, folder: Path, copied: CopyRecord, report: Report) -> None:
    """Move the answers in notebooks of whole lessons, as the course used to have them, into the notebooks of the parts.

    The old notebook goes to the folder of backups. It stays where it is if it cannot be read, or if the folder has a
    notebook of one of the parts already.
    """
    for lesson in course.lessons:
        old = folder / f"{lesson.name}.ipynb"
        there = [part.place for part in lesson.parts if (folder / part.place).exists()]
        if not old.is_file() or there:
            continue
        try:
            mine = load(old)
        except WorkspaceError as error:
            report(str(error))
            continue
        fresh = [(part, load(part.notebook)) for part in lesson.parts]
        nbformat: Any = importlib.import_module("nbformat")  # nbformat is only partly typed
        (folder / lesson.name).mkdir(exist_ok=True)
        for part, notebook in zip(
            lesson.parts, split_notebook(mine, copied.base_cells(old.name), fresh), strict=True
        ):
            write_whole(folder / part.place, f"{nbformat.writes(notebook)}\n".encode())
            copied.note_edition(part.place, file_digest(part.notebook))
            copied.note_base(part.place, part.notebook)
        backup = back_up(old)
        old.unlink()
        report(
            f"{old.name}에 쓴 답을 새 노트북 {len(lesson.parts)}개로 옮겼어요: {folder / lesson.name}. "
            f"쓰던 것은 여기 있어요: {backup}"
        )


def split_notebook(old: Any, began_as: Digests | None, parts: Sequence[tuple[Part, Any]]) -> list[Any]:
    """Return the notebook of each part, with what the learner wrote in the old one.

    Args:
        old: the learner's notebook of the whole lesson, as nbformat reads it.
        began_as: digests of the cells that it began with, by id. None if not known: then the course's cells, which
            their ids tell, count as unchanged.
        parts: the parts of the lesson and their new notebooks, in order.
    """
    notebooks = {part.name: notebook for part, notebook in parts}
    home = {name: part.name for part, _ in parts for name in part.exercises}
    ends: dict[str, Any] = {}  # part -> the cell behind which the learner's next cell goes
    where = parts[0][0].name
    written: dict[str, Any] = {}  # exercise -> the last cell with its tag that came along
    for cell in old.cells:
        exercise = exercise_of(cell)
        if exercise in home:
            where = home[exercise]
            cells = notebooks[where].cells
            starter = next(one for one in cells if exercise_of(one) == exercise)
            if exercise not in written:
                if _is_changed(cell, began_as) or began_as is None:
                    starter.source = cell.source
                    if cell.cell_type == "code":
                        starter.outputs, starter.execution_count = cell.outputs, cell.execution_count
                written[exercise] = starter
            else:  # a second cell with the same tag, such as a copy of the answer
                _insert(cells, cell, written[exercise])
                written[exercise] = cell
            ends[where] = _last_of_exercise(cells, written[exercise])
        elif _is_learners(cell, began_as):
            cells = notebooks[where].cells
            _insert(cells, cell, ends.get(where, cells[-1]))
            ends[where] = cell
    for part, notebook in parts:
        _give_free_ids(notebooks[part.name])
        notebook.metadata = {**old.metadata, **notebook.metadata}
    return [notebooks[part.name] for part, _ in parts]


def _is_learners(cell: Mapping[str, Any], began_as: Digests | None) -> bool:
    """Return True if the learner added or changed the cell, and it does more than call the course's functions."""
    lines = [line.strip() for line in cell["source"].split("\n")]
    if all(not line or line.startswith("#") or _CALL.fullmatch(line) for line in lines):
        return cell["cell_type"] != "code" and any(lines) and _is_changed(cell, began_as)
    return _is_changed(cell, began_as)


def _is_changed(cell: Mapping[str, Any], began_as: Digests | None) -> bool:
    identity = str(cell.get("id", ""))
    if began_as is not None and identity in began_as:
        return began_as[identity] != cell_digest(cell)
    return _OF_COURSE.fullmatch(identity) is None


def _last_of_exercise(cells: Sequence[Any], exercise: Any) -> Any:
    """Return the last of the cells that belong to an exercise: its own, and those of its check and hint."""
    last = exercise
    for cell in cells[_place(cells, exercise) + 1 :]:
        if not str(cell.get("id", "")).startswith(("check-", "hint-")):
            break
        last = cell
    return last


def _insert(cells: list[Any], cell: Any, after: Any) -> None:
    cells.insert(_place(cells, after) + 1, cell)


def _place(cells: Sequence[Any], wanted: Any) -> int:
    return next(number for number, cell in enumerate(cells) if cell is wanted)


def _give_free_ids(notebook: Any) -> None:
    """Number the cells that came along, if an id is taken or missing: a notebook may not hold an id twice."""
    taken: set[str] = set()
    for number, cell in enumerate(notebook.cells):
        identity = str(cell.get("id", ""))
        if not identity or identity in taken:
            cell["id"] = f"mine-{number}"
        taken.add(cell["id"])
