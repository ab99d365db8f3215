"""Add the lines of another table to what was written at the desk, as one change that the desk can undo."""

from collections.abc import Sequence
from pathlib import Path

from grader.base.names import listed
from grader.classroom.desk.changes import Changes, DeskError, Edited, is_change
from grader.gradebook.hand_files import HandFile, HandLine, Sheet
from grader.gradebook.overrides import is_whole, written_student


def lines_to_add(out: Path, file: HandFile, other: Path) -> list[HandLine]:
    """Return the lines of another table that say what the file in the report's folder does not say yet.

    Raises:
        TableError: one of them cannot be read.
    """
    return _new(file.read(out), file.read_from(other, other).lines)


def clashes(out: Path, file: HandFile, other: Path) -> list[str]:
    """Return the lines of another table, in words, that decide a score which the folder's file gives otherwise.

    Raises:
        TableError: one of them cannot be read.
    """
    sheet = file.read(out)
    return _told(_clashing(sheet, _new(sheet, file.read_from(other, other).lines)))


def _clashing(sheet: Sheet, new: Sequence[HandLine]) -> list[HandLine]:
    return [line for line in new if any(_clash(line, one) for one in sheet.lines)]


def _told(lines: Sequence[HandLine]) -> list[str]:
    return [f"{line.id or line.name} {line.exercise or '전체'} {line.score}" for line in lines]


def join(out: Path, who: str, file: HandFile, other: Path) -> int:
    """Add these lines to the file in the report's folder, and return their number.

    Args:
        out: the report's folder.
        who: name of the person, for the log.
        file: `overrides.csv` or `comments.csv`.
        other: the other table.

    Raises:
        DeskError: both decide a score for the same answer; nothing is written.
        TableError: one of them cannot be read.
        OSError: the file cannot be written.
    """
    lines = file.read_from(other, other).lines

    def edit(sheet: Sheet) -> Edited:
        new = _new(sheet, lines)
        if clashing := _clashing(sheet, new):
            raise DeskError(
                f"두 파일이 같은 학생의 같은 연습에 점수를 따로 정했어요: {listed(_told(clashing))}. "
                f"{other}의 줄은 하나도 더하지 않았어요. 이 파일이나 {out / file.name}에서 "
                "그 줄을 지우고 다시 실행해 주세요."
            )
        for line in new:
            sheet.add(line)
        return Edited(added=new)

    return len(Changes(out, who).edit("join", file, edit, {}).added)


def _new(sheet: Sheet, lines: Sequence[HandLine]) -> list[HandLine]:
    there = {_said(line) for line in sheet.lines}
    return [line for line in lines if _said(line) not in there]


def _said(line: HandLine) -> tuple[str, str, str, str]:
    return *_whose(line), line.score, line.text


def _whose(line: HandLine) -> tuple[str, str]:
    student = written_student(line.id, line.name).casefold()
    return student, "" if is_whole(line.exercise) else line.exercise


def _clash(line: HandLine, other: HandLine) -> bool:
    """Return True if both give the same answer a score and one of them decides it."""
    both_change = is_change(line.score) and is_change(other.score)
    return bool(line.score) and _whose(line) == _whose(other) and not both_change
