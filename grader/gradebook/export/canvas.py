"""Write the CSV that Canvas' gradebook imports; its columns are those of Canvas' own export.

Canvas finds a student by `ID`, then by the SIS columns, then by name, and an assignment by the number in brackets after
its title. So the safest file is Canvas' own export with one column filled in; without it, the Canvas numbers in the
names of the downloaded files identify the students.
"""

from pathlib import Path

from grader.base.names import listed
from grader.base.tables import csv_text, plain_header, read_table
from grader.gradebook.export.rows import ExportError, Row, column_asked_for, filled, may_belong_to
from grader.report.plain_text import points, spreadsheet_cell

_STUDENT_COLUMNS = (
    "student",
    "id",
    "sis user id",
    "sis login id",
    "integration id",
    "root account",
    "section",
    "notes",
)
# Canvas writes this below the title of a column that it computes itself.
_COMPUTED = "(read only)"


def canvas_csv(rows: list[Row], assignment: str) -> tuple[str, tuple[str, ...]]:
    """Return a file for the import, and the students left out because Canvas could not find them.

    Args:
        rows: the class.
        assignment: title of the column, followed by Canvas' number in brackets if the assignment exists already.
    """
    full = max((row.max_score for row in rows), default=0.0)
    lines = [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", assignment],
        ["    Points Possible", "", "", "", "", points(full)],
    ]
    known = [row for row in rows if row.person.canvas_id or row.person.id or row.person.login]
    for row in known:
        person = row.person
        who = (person.name, person.canvas_id, person.id, person.login, person.section)
        lines.append([*map(spreadsheet_cell, who), row.shown_score])
    return csv_text(lines), tuple(row.student or row.person.name for row in rows if row not in known)


def fill_canvas_export(rows: list[Row], path: Path, column: str | None) -> tuple[str, tuple[str, ...]]:
    """Return Canvas' own export with the marks of one assignment filled in, and the students that are not in it.

    Raises:
        TableError: the file cannot be read.
        ExportError: it is not a gradebook, or it is unclear which column to fill.
    """
    table = read_table(path, "Canvas 성적표")
    id_at, sis_at = table.column("id"), table.column("sis user id")
    login_at = table.column("sis login id")
    name_at = table.column("student")
    if id_at is None or name_at is None:
        raise ExportError(
            f"Canvas의 성적표가 아니에요: {path} (Student, ID 열이 없어요). 성적표에서 내보낸 CSV를 알려 주세요."
        )
    at = column_asked_for(table, column, path) if column else _only_assignment(table.header, table.rows, path)
    notes_at = table.column("notes")
    by_id = {row.person.canvas_id: row for row in rows if row.person.canvas_id}
    by_sis = {row.person.id: row for row in rows if row.person.id}
    by_login = {row.person.login: row for row in rows if row.person.login}
    grades: dict[int, dict[int, str]] = {}
    found = set()
    for index, line in enumerate(table.rows):
        row = (
            by_id.get(line[id_at])
            or (by_sis.get(line[sis_at]) if sis_at is not None else None)
            or (by_login.get(line[login_at]) if login_at is not None else None)
        )
        if row is None or not may_belong_to(row, line[name_at]):
            continue
        found.add(id(row))
        if row.score is not None:
            grades[index] = {at: row.shown_score}
            if notes_at is not None and row.reasons:
                grades[index][notes_at] = spreadsheet_cell(" / ".join(row.reasons))
    text = csv_text(filled(table, grades), delimiter=table.delimiter)
    return text, tuple(row.student or row.person.name for row in rows if id(row) not in found)


def _only_assignment(header: tuple[str, ...], lines: tuple[tuple[str, ...], ...], path: Path) -> int:
    """Return the index of the only column that is an assignment's, and not computed by Canvas."""
    points_row = next((line for line in lines if line[0].casefold() == "points possible"), ())
    places = [
        at
        for at, title in enumerate(header)
        if title
        and plain_header(title) not in _STUDENT_COLUMNS
        and (not points_row or points_row[at].casefold() != _COMPUTED)
    ]
    if len(places) != 1:
        titles = listed([header[at] for at in places]) or "없음"
        raise ExportError(
            f"{path}에서 점수를 적을 열을 하나로 정할 수 없어요 (과제 열: {titles}). --column에 열 이름을 적어 주세요."
        )
    return places[0]
