"""Turn results into one row per student with the mark that counts, from which all systems' files are made."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.base.errors import HanstepError
from grader.base.tables import Table
from grader.course.feedback import ClassResult, Person, SubmissionResult
from grader.intake.agreement import agree, is_placeholder_name
from grader.report.plain_text import points


class ExportError(HanstepError):
    """A file cannot be written as asked; the message is Korean and says what to do."""


@dataclass(frozen=True)
class Row:
    """One student's row."""

    student: str
    """Name in the results; empty for somebody who handed in nothing."""
    person: Person
    score: float | None
    """None: write no mark."""
    max_score: float
    reasons: tuple[str, ...] = ()

    @property
    def shown_score(self) -> str:
        """The score as people and systems write it; empty without a mark."""
        return "" if self.score is None else points(self.score)


def may_belong_to(row: Row, name: str) -> bool:
    """Return True if a row found by number may be the student with this name in a system's file.

    The roster's numbers have been compared with names before. Other numbers may be a group's.
    """
    known = bool(row.person.id) or not name or is_placeholder_name(row.person.name)
    return known or agree(row.person.name, name)


def rows(result: ClassResult) -> list[Row]:
    """Return the rows of all students; those who handed in nothing come last."""
    found = [_row(submission) for submission in result.submissions]
    full = max((row.max_score for row in found), default=0.0)
    for absent in result.absent:
        mark = absent.mark
        score = None if mark is None else mark.score
        found.append(Row("", absent.person, score, full, () if mark is None else mark.reasons))
    return found


def _row(submission: SubmissionResult) -> Row:
    person, mark = submission.person or Person(name=submission.student), submission.mark
    if mark is None:
        return Row(submission.student, person, submission.score, submission.max_score)
    return Row(submission.student, person, mark.score, mark.max_score, mark.reasons)


def filled(template: Table, grades: Mapping[int, Mapping[int, str]]) -> list[list[str]]:
    """Return the rows of a file that a system wrote, header first, with some cells filled in.

    Args:
        template: the file.
        grades: new cells by row (from 0, without the header) and column.
    """
    lines = [list(template.header)]
    for index, row in enumerate(template.rows):
        cells = grades.get(index, {})
        lines.append([cells.get(at, old) for at, old in enumerate(row)])
    return lines


def column_asked_for(template: Table, name: str, path: Path) -> int:
    """Return the index of the column to fill.

    Raises:
        ExportError: the file has no column of this name.
    """
    at = template.column(" ".join(name.replace("_", " ").casefold().split()))
    if at is None:
        raise ExportError(
            f"{path}에 '{name}' 열이 없어요. 있는 열: {', '.join(template.header)}. --column에 그대로 적어 주세요."
        )
    return at
