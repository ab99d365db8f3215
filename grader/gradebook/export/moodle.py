"""Write the grading worksheet that Moodle's assignment imports (offline grading).

Moodle finds a student by `Identifier` (`Participant 12345`), and reads `Grade`, `Last modified (grade)` and feedback.
Its column titles are in the language of the site, so the safest file is the downloaded worksheet with marks filled in.
"""

import re
from html import escape
from pathlib import Path

from grader.base.tables import csv_text, read_table
from grader.gradebook.export.rows import ExportError, Row, column_asked_for, filled, may_belong_to
from grader.report.plain_text import points, spreadsheet_cell

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
_GRADE = ("grade", "성적", "점수")
_MAXIMUM = ("maximum grade", "최대 성적", "최고 성적", "만점")
_IDENTIFIER = ("identifier", "식별자")
_EMAIL = ("email address", "이메일 주소", "email", "이메일")
_NAME = ("full name", "전체 이름", "성명", "이름")
_FEEDBACK = ("feedback comments", "피드백 댓글", "피드백 의견")
_NUMBER = re.compile(r"\d+$")


def moodle_csv(rows: list[Row]) -> tuple[str, tuple[str, ...]]:
    """Return a worksheet in English, and the students left out because Moodle could not find them.

    With a roster, the number of somebody who is not in it may be a group's, and Moodle does not compare names.
    """
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


def fill_moodle_worksheet(rows: list[Row], path: Path, column: str | None) -> tuple[str, tuple[str, ...]]:
    """Return Moodle's own worksheet with marks filled in, and the students that are not in it.

    Raises:
        TableError: the file cannot be read.
        ExportError: it is not a worksheet, or a mark is larger than Moodle accepts; Moodle would skip it silently.
    """
    table = read_table(path, "Moodle 채점표")
    id_at, grade_at = table.column(*_IDENTIFIER), table.column(*_GRADE)
    if column:
        grade_at = column_asked_for(table, column, path)
    if id_at is None or grade_at is None:
        raise ExportError(
            f"Moodle의 채점표에서 식별자(Identifier)와 성적(Grade) 열을 찾지 못했어요: {path} "
            f"(있는 열: {', '.join(table.header)}). 성적을 적을 열의 이름을 --column에 적어 주세요."
        )
    most_at, comment_at, email_at = (table.column(*names) for names in (_MAXIMUM, _FEEDBACK, _EMAIL))
    name_at = table.column(*_NAME)
    by_number = {row.person.moodle_id: row for row in rows if row.person.moodle_id}
    by_email = {row.person.email.casefold(): row for row in rows if row.person.email}
    grades: dict[int, dict[int, str]] = {}
    found = set()
    for index, line in enumerate(table.rows):
        number = _NUMBER.search(line[id_at])
        row = by_number.get(number.group()) if number else None
        if row is not None and name_at is not None and not may_belong_to(row, line[name_at]):
            row = None
        if row is None and email_at is not None:
            row = by_email.get(line[email_at].casefold())
        if row is None:
            continue
        found.add(id(row))
        if row.score is None:
            continue
        _refuse_larger(row, "" if most_at is None else line[most_at])
        grades[index] = {grade_at: row.shown_score}
        if comment_at is not None and row.reasons:
            grades[index][comment_at] = _comment(row)
    text = csv_text(filled(table, grades), delimiter=table.delimiter)
    return text, tuple(row.student or row.person.name for row in rows if id(row) not in found)


def _refuse_larger(row: Row, most: str) -> None:
    try:
        largest = float(most.replace(",", "."))
    except ValueError:
        return
    if row.score is not None and row.score > largest:
        raise ExportError(
            f"Moodle의 만점 {points(largest)}점보다 큰 점수가 있어서 Moodle이 받지 않아요: "
            f"{row.student} {row.shown_score}점. policy.toml에 out_of = {points(largest)}을 적고 "
            "grader mark를 실행한 다음 다시 내보내 주세요."
        )


def _comment(row: Row) -> str:
    """Return the reasons as HTML, in which Moodle reads feedback."""
    return spreadsheet_cell(escape(" / ".join(row.reasons))) if row.reasons else ""
