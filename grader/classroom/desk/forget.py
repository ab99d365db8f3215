"""Remove one student's personal data from a report's folder: results, code, pages, lines of tables, the log.

Files that are made from the results (tables for learning systems, zips of pages) are deleted; they are quickly made
again. In the end everything left is searched for the student's number and name, and what still holds them is told.
"""

import json
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from grader.base.file_names import file_names
from grader.base.files import write_whole
from grader.base.tables import csv_text, read_table, student_number
from grader.classroom.desk.changes import LOG, Changes, DeskError
from grader.classroom.desk.drafts import remove_drafts_naming
from grader.classroom.journal import COMPLETE, UNFINISHED
from grader.course.feedback import ClassResult, Person
from grader.gradebook.hand_files import HAND_FILES
from grader.gradebook.marking import known_as, student_key
from grader.report.kept_answers import NAME as ANSWERS
from grader.report.plain_text import one_line

# There may be several rosters: roster.csv, roster-2.csv.
_TABLES = ("roster*", "groups", "extensions", *(name.removesuffix(".csv") for name in HAND_FILES))
_MADE_AGAIN = (
    "canvas.csv",
    "moodle.csv",
    "junit.xml",
    "summary.md",
    "canvas-feedback.zip",
    "moodle-feedback.zip",
)
_HIDDEN = "○○○"
_SHORTEST = 2
"""Minimum characters of a name or number that is searched for."""


@dataclass(frozen=True)
class Forgotten:
    """A student to be removed."""

    label: str
    """Name in the results; empty for somebody who handed in nothing."""
    person: Person

    @property
    def words(self) -> tuple[str, ...]:
        """Everything that names the student."""
        person = self.person
        own = (self.label, person.id, person.name, person.login, person.email, person.github)
        return tuple(dict.fromkeys(word for word in own if len(word) >= _SHORTEST))

    def is_meant(self, cell: str) -> bool:
        """True if a cell of a table names the student: by number or address, or without a number by name."""
        if self.person.id:
            address = self.person.email.casefold()
            is_address = bool(address) and cell.strip().casefold() == address
            return is_address or student_number(cell).casefold() == self.person.id.casefold()
        return cell.removeprefix("'").casefold() in {self.label.casefold(), self.person.name.casefold()} - {
            ""
        }


def find_student(result: ClassResult, wanted: str) -> Forgotten:
    """Return the student with this number or name.

    Raises:
        DeskError: there is none, or several.
    """
    meant = known_as(result).get(wanted.strip().casefold(), [])
    if len(meant) != 1:
        what = "이 학생을 찾지 못했어요" if not meant else "이 이름의 학생이 여럿이에요"
        raise DeskError(
            f"{what}: '{one_line(wanted, 80)}'. 명단의 학번이나 결과에 나오는 이름을 그대로 적어 주세요."
        )
    for submission in result.submissions:
        if student_key(submission) == meant[0]:
            return Forgotten(submission.student, submission.person or Person())
    return Forgotten("", next(a.person for a in result.absent if f"absent {a.person.id}" == meant[0]))


def without_student(result: ClassResult, student: Forgotten) -> ClassResult:
    """Return the class without the student, whose name is also hidden in the notes of a group's other members."""

    def hidden(note: str) -> str:
        return note.replace(student.person.name, _HIDDEN) if len(student.person.name) >= _SHORTEST else note

    submissions = tuple(
        replace(submission, notes=tuple(map(hidden, submission.notes)))
        for submission in result.submissions
        if submission.student != student.label or not student.label
    )
    absent = tuple(a for a in result.absent if student.label or a.person != student.person)
    return replace(result, submissions=submissions, absent=absent)


def remove_files_of(out: Path, result: ClassResult, student: Forgotten) -> None:
    """Remove the student from all files of the folder but those that `write_report` writes for the rest of the class.

    Args:
        out: the report's folder; the caller holds its lock.
        result: the class with the student.
        student: who is removed.

    Raises:
        HanstepError: a table cannot be read.
        OSError: a file cannot be written.
    """
    labels = [s.student for s in result.submissions]
    rest = [label for label in labels if label != student.label]
    for name in {*file_names(labels)} - {*file_names(rest)}:
        (out / "feedback" / f"{name}.html").unlink(missing_ok=True)
        shutil.rmtree(out / "gradescope" / name, ignore_errors=True)
    for made in _MADE_AGAIN:
        (out / made).unlink(missing_ok=True)
    for name in (ANSWERS, COMPLETE, UNFINISHED):
        if student.label and (out / name).is_file():
            write_whole(out / name, b"".join(_lines_of_others(out / name, student.label)))
    with Changes(out, "").locked():
        for table in {path.with_suffix(".csv") for name in _TABLES for path in out.glob(f"{name}.*")}:
            _remove_rows(table, student)
        _remove_from_log(out / LOG, student)
        remove_drafts_naming(out, student.words)


def files_that_still_name(out: Path, student: Forgotten) -> list[str]:
    """Return the files of the folder in which the student's number or name still stands, by their relative paths."""
    words = [word.encode() for word in student.words]
    words += [json.dumps(word)[1:-1].encode() for word in student.words]
    found = []
    for path in sorted(out.rglob("*")):
        named = any(word in path.name for word in student.words)
        if named or (path.is_file() and any(word in path.read_bytes() for word in words)):
            found.append(str(path.relative_to(out)))
    return found


def _lines_of_others(path: Path, label: str) -> Iterator[bytes]:
    with path.open("rb") as file:
        for line in file:
            with suppress(ValueError, RecursionError, AttributeError):
                if json.loads(line).get("student") == label:
                    continue
            yield line


def _remove_rows(path: Path, student: Forgotten) -> None:
    """Remove the student's rows; a workbook becomes a CSV file, and a table without rows is deleted."""
    book = path.with_suffix(".xlsx")
    source = path if path.exists() else book
    if not source.exists():
        return
    table = read_table(source, path.name, ("id",))
    left = [row for row in table.rows if not any(map(student.is_meant, row))]
    if len(left) == len(table.rows):
        return
    if left:
        text = csv_text([*table.above, table.header, *left], delimiter=table.delimiter)
        write_whole(path, text.encode("utf-8-sig", "replace"))
    else:
        path.unlink(missing_ok=True)
    book.unlink(missing_ok=True)


def _remove_from_log(path: Path, student: Forgotten) -> None:
    """Take the student's lines out of the log's entries; the entries stay, so that others' changes can be undone."""
    if not path.exists():
        return
    entries = []
    for line in path.read_bytes().splitlines():
        try:
            entry = json.loads(line)
            for name in ("before", "after"):
                if name in entry:
                    entry[name] = [one for one in entry[name] if not any(map(student.is_meant, one.values()))]
        except (ValueError, RecursionError, AttributeError, TypeError):
            continue
        entries.append(json.dumps(entry, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
    write_whole(path, b"".join(entries))
