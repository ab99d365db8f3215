"""Write the CSV that Canvas' gradebook imports; its columns are those of Canvas' own export.

Canvas finds a student by `ID`, then by the SIS columns, then by name, and an assignment by the number in brackets after
its title. So the safest file is Canvas' own export with one column filled in; without it, the Canvas numbers in the
names of the downloaded files identify the students.
"""

import re
from pathlib import Path

from grader.base.headings import find_title, plain_header
from grader.base.names import listed
from grader.base.tables import Table, csv_text, read_table, student_number
from grader.gradebook.export.filling import EXCUSED, Filled, Filling
from grader.gradebook.export.rows import (
    ExportError,
    Row,
    column_asked_for,
    may_belong_to,
    refuse_other_full_mark,
)
from grader.report.plain_text import points, spreadsheet_cell

_STUDENT_COLUMNS = frozenset(
    (
        *("student", "lastname", "firstname", "id", "sisuserid", "sisloginid", "integrationid"),
        *("rootaccount", "section", "notes"),
    )
)
"""Titles of columns about the student, as `plain_header` returns them."""
_COMPUTED_TITLE = re.compile("(current|final|override) (score|points|grade|status)")
"""Matches columns that Canvas computes, for an assignment group or a grading period too; its importer skips them."""
_COMPUTED = re.compile(r"read\s*only|읽기\s*전용")
"""What Canvas writes below the title of a column that it computes itself."""
_ASSIGNMENT_NUMBER = re.compile(r"\(\d+\)$")


def canvas_csv(rows: list[Row], assignment: str) -> tuple[str, tuple[str, ...]]:
    """Return a file for the import, and the students left out because Canvas could not find them.

    Those whose submission could not be read are left out too, so that Canvas keeps what it has.

    Args:
        rows: the class.
        assignment: title of the column, followed by Canvas' number in brackets if the assignment exists already.
    """
    full = max((row.max_score for row in rows), default=0.0)
    rows = [row for row in rows if not row.unread]
    lines = [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", assignment],
        ["    Points Possible", "", "", "", "", points(full)],
    ]
    known = [row for row in rows if row.person.canvas_id or row.person.id or row.person.login]
    for row in known:
        person = row.person
        who = (person.name, person.canvas_id, person.id, person.login, person.section)
        lines.append([*map(spreadsheet_cell, who), _as_canvas_reads(row)])
    return csv_text(lines), tuple(row.student or row.person.name for row in rows if row not in known)


def fill_canvas_export(
    rows: list[Row],
    path: Path,
    column: str | None,
    *,
    overwrite: bool = False,
    report: Path = Path("report"),
) -> Filled:
    """Return Canvas' own export with the marks of one assignment filled in.

    Args:
        rows: the class.
        path: the exported gradebook.
        column: title of the assignment's column; None if there is only one.
        overwrite: True to replace scores that are there, and `EX`.
        report: folder of the results, for messages.

    Raises:
        TableError: the file cannot be read.
        ExportError: it is not a gradebook, or it is unclear which column to fill, or the column is no assignment's, or
            Canvas counts it from another full mark than ours.
    """
    table = read_table(path, "Canvas 성적표")
    id_at, sis_at, login_at = (
        find_title(table.header, title) for title in ("ID", "SIS User ID", "SIS Login ID")
    )
    name_at = find_title(table.header, "Student")
    name_at = find_title(table.header, "LastName") if name_at is None else name_at
    if id_at is None or name_at is None:
        raise ExportError(
            f"Canvas의 성적표가 아니에요: {path} (Student, ID 열이 없어요). 성적표에서 내보낸 CSV를 알려 주세요."
        )
    at = _assignment(table, column, path)
    _refuse_other_full_mark(rows, table, at, report)
    first_at, notes_at = find_title(table.header, "FirstName"), find_title(table.header, "Notes")
    by_id = {row.person.canvas_id: row for row in rows if row.person.canvas_id}
    by_sis = {row.person.id.casefold(): row for row in rows if row.person.id}
    by_login = {row.person.login.casefold(): row for row in rows if row.person.login}
    filling = Filling(table, at, overwrite)
    for index, line in enumerate(table.rows):
        name = " ".join(line[place] for place in (name_at, first_at) if place is not None)
        row = (
            by_id.get(student_number(line[id_at]))
            or (by_sis.get(student_number(line[sis_at]).casefold()) if sis_at is not None else None)
            or (by_login.get(line[login_at].casefold()) if login_at is not None else None)
        )
        if row is None or not may_belong_to(row, name):
            continue
        who = f"{name} {row.person.id or line[id_at]}"
        if filling.put(index, row, _as_canvas_reads(row), who) or row.comments:
            filling.note(index, notes_at, row.remarks)
    return filling.done(rows)


def _as_canvas_reads(row: Row) -> str:
    return EXCUSED if row.excused else row.shown_score


def _points_row(table: Table) -> tuple[str, ...]:
    """Return the row with the points of each assignment, below the titles; empty if there is none."""
    return next((line for line in table.rows if line[0].casefold() == "points possible"), ())


def _refuse_other_full_mark(rows: list[Row], table: Table, at: int, report: Path) -> None:
    line = _points_row(table)
    full = max((row.max_score for row in rows if row.student), default=0.0)
    refuse_other_full_mark(f"Canvas의 '{table.header[at]}'", line[at] if line else "", full, report)


def _assignment(table: Table, column: str | None, path: Path) -> int:
    """Return the index of the assignment's column to fill.

    Raises:
        ExportError: there is no such column, it is no assignment's, or there are several and none is asked for.
    """
    line = _points_row(table)
    places = [at for at, title in enumerate(table.header) if _is_assignment(title, line[at] if line else "")]
    titles = listed([table.header[at] for at in places]) or "없음"
    if column:
        at = column_asked_for(table, column, path)
        if at not in places:
            raise ExportError(
                f"{path}의 '{table.header[at]}' 열은 과제의 점수가 아니라서 적지 않았어요. "
                f"점수를 적을 수 있는 열: {titles}. 그 이름을 --column에 그대로 적어 주세요."
            )
        return at
    if len(places) != 1:
        raise ExportError(
            f"{path}에서 점수를 적을 열을 하나로 정할 수 없어요 (과제 열: {titles}). --column에 열 이름을 적어 주세요."
        )
    return places[0]


def _is_assignment(title: str, points_possible: str) -> bool:
    """Return True for a column of scores that Canvas imports.

    A column that instructors have added for their own notes has neither a number nor points.
    """
    plain = " ".join(title.casefold().split())
    if not plain or plain_header(title) in _STUDENT_COLUMNS or _COMPUTED.search(points_possible.casefold()):
        return False
    if _ASSIGNMENT_NUMBER.search(plain):
        return True
    return not _COMPUTED_TITLE.search(plain) and any(char.isdigit() for char in points_possible)
