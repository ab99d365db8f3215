"""Merge new editions of the course into a learner's notebooks (`grader update`); every cell that they changed stays."""

import importlib
import shlex
from pathlib import Path
from typing import Any

from grader.base.errors import HanstepError
from grader.base.files import write_whole
from grader.base.menus import REOPEN
from grader.course.course import Part
from grader.course.exercise_cell import exercise_of
from grader.course.reading import load_course
from grader.workspace.folder import CopyRecord, Report, WorkspaceError, back_up, file_digest, free_name, load
from grader.workspace.merge_notebooks import Merged, can_merge, merge
from grader.workspace.split_notebook import bring_over

_MOST_NAMED = 5
"""Maximum cells named in one message."""


def command(folder: Path) -> str:
    """Return the command to type for updating `folder`."""
    return f"grader update {shlex.quote(str(folder))}"


def update(folder: Path, report: Report = print) -> None:
    """Merge each notebook found in `folder`; missing ones are left to `grader start`.

    Raises:
        WorkspaceError: the folder has no lesson.
    """
    course, copied = load_course(), CopyRecord(folder)
    bring_over(course, folder, copied, report)
    parts = [part for part in course.parts if (folder / part.place).is_file()]
    if not parts:
        raise WorkspaceError(
            f"{folder}에 레슨이 없어요. 먼저 복사해 주세요: grader start {shlex.quote(str(folder))}"
        )
    for part in parts:
        try:
            _update_one(folder / part.place, part, copied, report)
        except HanstepError as error:  # one broken notebook must not keep the others from their update
            report(str(error))
    copied.save()


def _update_one(mine: Path, part: Part, copied: CopyRecord, report: Report) -> None:
    """Update one notebook: leave it, replace it if it was never changed, or merge it."""
    newest, there = file_digest(part.notebook), file_digest(mine)
    if there == newest or copied.last_edition(part.place) == newest:
        report(f"새 판 그대로예요: {part.place}")
    elif there == copied.last_edition(part.place):
        write_whole(mine, part.notebook.read_bytes())
        report(f"새 판으로 바꿨어요 (고친 곳이 없었어요): {part.place}")
    else:
        _merge_one(mine, part, newest, copied, report)
        return
    copied.note_edition(part.place, newest)
    copied.note_base(part.place, part.notebook)


def _merge_one(mine: Path, part: Part, newest: str, copied: CopyRecord, report: Report) -> None:
    """Merge one notebook; one that cannot be merged stays, with the new edition put beside it."""
    own, new = load(mine), load(part.notebook)
    copied.note_edition(part.place, newest)
    if not can_merge(own, new):
        beside = free_name(mine, "새판")
        write_whole(beside, part.notebook.read_bytes())
        report(
            f"셀의 번호(id)가 없거나 바뀐 노트북이라 합칠 수 없어요: {part.place}. "
            f"쓰던 것은 그대로 두고, 강의의 새 판은 옆에 뒀어요: {beside.name}"
        )
        return
    nbformat: Any = importlib.import_module("nbformat")  # nbformat is only partly typed
    titles = {cell.id: _cell_title(cell) for cell in new.cells}
    merged = merge(own, new, copied.base_cells(part.place))
    backup = back_up(mine)
    write_whole(mine, f"{nbformat.writes(merged.notebook)}\n".encode())
    copied.note_base(part.place, part.notebook)
    report(f"합쳤어요: {part.place}. 새로 온 셀 {merged.renewed}개, 그대로 둔 내 셀 {merged.kept}개.")
    _report_behind(merged, titles, report)
    report(f"합치기 전의 노트북은 여기 있어요: {backup}")
    report(REOPEN)


def _report_behind(merged: Merged, titles: dict[str, str], report: Report) -> None:
    if merged.behind:
        named = [titles[i] for i in merged.behind][:_MOST_NAMED]
        more = len(merged.behind) - len(named)
        rest = f" 그 밖에 {more}개" if more else ""
        report(f"강의의 글이 달라졌지만 내가 고친 셀이라 그대로 둔 것: {', '.join(named)}{rest}")


def _cell_title(cell: Any) -> str:
    """Return the exercise's name, or the beginning of the cell's first line."""
    if (exercise := exercise_of(cell)) is not None:
        return exercise
    first = next(iter(cell.source.strip().splitlines()), cell.id)
    return f"「{first[:30]}」"
