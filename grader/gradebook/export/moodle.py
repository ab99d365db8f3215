"""Write the grading worksheet that Moodle's assignment imports (offline grading).

Moodle finds a student by `Identifier` (`Participant 12345`), and reads `Grade`, `Last modified (grade)` and feedback.
Its column titles are in the language of the site, so the safest file is the downloaded worksheet with marks filled in.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from html import escape
from pathlib import Path

from grader.base.headings import find_columns
from grader.base.tables import csv_text, read_table, student_number
from grader.gradebook.export.filling import Filled, Filling
from grader.gradebook.export.rows import (
    ExportError,
    Row,
    column_asked_for,
    may_belong_to,
    refuse_other_full_mark,
)
from grader.intake.agreement import agree
from grader.intake.roster import name_keys, numbers_in_address
from grader.report.plain_text import WHOLE_COMMENT, points, spreadsheet_cell

HEADER = (
    "Identifier",
    "Full name",
    "Email address",
    "Status",
    "Grade",
    "Maximum Grade",
    "Grade can be changed",
    "Last modified (submission)",
    "Last modified (grade)",
    "Feedback comments",
)
_FIELDS = ("record_id", "id", "email", "name", "grade", "max_grade", "can_change", "feedback")
_NO = ("no", "아니오", "아니요")
_NUMBER = re.compile(r"\d+$")


def moodle_csv(rows: list[Row]) -> tuple[str, tuple[str, ...]]:
    """Return a worksheet in English, and the students left out because Moodle could not find them.

    With a roster, the number of somebody who is not in it may be a group's, and Moodle does not compare names.
    Submissions that could not be read are left out, so that Moodle keeps what it has.
    """
    rows = [row for row in rows if not row.unread]
    lines = [list(HEADER)]
    has_roster = any(row.person.id for row in rows)
    known = [row for row in rows if row.person.moodle_id and (row.person.id or not has_roster)]
    for row in known:
        person = row.person
        status = "Submitted for grading" if row.student else "No submission"
        who = (
            f"Participant {person.moodle_id}",
            spreadsheet_cell(person.name),
            spreadsheet_cell(person.email),
            status,
        )
        lines.append([*who, row.shown_score, points(row.max_score), "Yes", "-", "-", _comment(row)])
    return csv_text(lines), tuple(row.student or row.person.name for row in rows if row not in known)


def fill_moodle_worksheet(
    rows: list[Row],
    path: Path,
    column: str | None,
    *,
    overwrite: bool = False,
    report: Path = Path("report"),
) -> Filled:
    """Return Moodle's own worksheet, in the language of the site, with marks and their reasons filled in.

    Args:
        rows: the class.
        path: the worksheet.
        column: title of the column to fill, if the site has another word for a grade.
        overwrite: True to replace grades that are there.
        report: folder of the results, for messages.

    Raises:
        TableError: the file cannot be read.
        ExportError: it is not a worksheet, or Moodle counts from another full mark than ours.
    """
    table = read_table(path, "Moodle 채점표", ("record_id", "grade"))
    places = find_columns(table.header, _FIELDS)
    if places["id"] == places["record_id"]:
        places["id"] = None  # no column of student numbers
    id_at, grade_at = places["record_id"], places["grade"]
    if column:
        grade_at = column_asked_for(table, column, path)
        others = {at for name, at in places.items() if name != "grade"}
        if grade_at in others:
            raise ExportError(
                f"{path}의 '{table.header[grade_at]}' 열은 성적이 아니라서 적지 않았어요. 성적을 적을 열의 이름을 "
                f"--column에 적어 주세요. 있는 열: {', '.join(table.header)}"
            )
    if id_at is None or grade_at is None:
        raise ExportError(
            f"Moodle의 채점표에서 식별자(Identifier)와 성적(Grade) 열을 찾지 못했어요: {path} "
            f"(있는 열: {', '.join(table.header)}). 성적을 적을 열의 이름을 --column에 적어 주세요."
        )
    known = _Known(rows, [] if places["name"] is None else [line[places["name"]] for line in table.rows])
    filling = Filling(table, grade_at, overwrite)
    for index, line in enumerate(table.rows):
        cells = {name: "" if at is None else line[at] for name, at in places.items()}
        row = known.of(cells)
        if row is None:
            continue
        refuse_other_full_mark("Moodle 채점표의", cells["max_grade"], row.max_score, report)
        locked = "Moodle에서 잠긴 성적" if cells["can_change"].casefold() in _NO else ""
        who = f"{cells['name']} {cells['id'] or cells['record_id']}"
        written = filling.put(index, row, row.shown_score, who, locked=locked)
        if row.comments or ((written or row.excused) and row.reasons):
            filling.note(index, places["feedback"], _comment(row))
    return filling.done(rows)


class _Known:
    """Finds the student of a worksheet's line.

    By student number, by Moodle's number with the name, by address, by a student number within the address
    (`s20191234@x.ac.kr`), by a name that only one student and only one line have.
    """

    def __init__(self, rows: list[Row], names: list[str]) -> None:
        self._by_id = {row.person.id.casefold(): row for row in rows if row.person.id}
        self._by_number = {row.person.moodle_id: row for row in rows if row.person.moodle_id}
        self._by_email = {row.person.email.casefold(): row for row in rows if row.person.email}
        self._by_name: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            for key in name_keys(row.person.name):
                self._by_name[key].append(row)
        self._lines = Counter(key for name in names for key in name_keys(name))

    def of(self, cells: Mapping[str, str]) -> Row | None:
        """Return the row of the student in a line of the worksheet, whose cells are given by field."""
        own = student_number(cells["id"]).casefold()
        if own and own in self._by_id:
            return self._by_id[own]
        number = _NUMBER.search(cells["record_id"])
        row = self._by_number.get(number.group()) if number else None
        # Moodle numbers the participants of each assignment anew: a roster may hold those of another one.
        is_other = row is not None and bool(own and row.person.id)
        if row is not None and is_other and not agree(row.person.name, cells["name"]):
            row = None
        if row is None or not may_belong_to(row, cells["name"]):
            row = self._by_email.get(cells["email"].casefold()) or self._without_number(cells)
        return row

    def _without_number(self, cells: Mapping[str, str]) -> Row | None:
        """Return the row of somebody in the roster who has neither Moodle's number nor this address."""
        digits = (number.casefold() for number in numbers_in_address(cells["email"]))
        found = next((self._by_id[number] for number in digits if number in self._by_id), None)
        if found is not None:
            return None if found.person.moodle_id or not agree(found.person.name, cells["name"]) else found
        keys = [key for key in name_keys(cells["name"]) if self._lines[key] == 1]
        named = {id(row): row for key in keys for row in self._by_name.get(key, ())}
        (only,) = named.values() if len(named) == 1 else (None,)
        return only if only is not None and only.person.id and not only.person.moodle_id else None


def _comment(row: Row) -> str:
    """Return reasons and comments as HTML, in which Moodle reads feedback."""
    return spreadsheet_cell(escape(" / ".join((*row.reasons, *row.comments))), WHOLE_COMMENT)
