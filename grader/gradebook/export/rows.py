"""Turn results into one row per student with the mark that counts, from which all systems' files are made."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from grader.base.errors import HanstepError
from grader.base.tables import Table
from grader.course.feedback import ClassResult, Person, SubmissionResult
from grader.intake.agreement import agree, is_placeholder_name
from grader.report.plain_text import WHOLE_COMMENT, comment_lines, points, spreadsheet_cell
from grader.report.regraded import regrade_told

_SAME_FULL_MARK = 0.005
"""Difference below which two full marks are one: systems write two decimals."""


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
    excused: bool = False
    """True for a student who need not hand in; the score is then None."""
    unread: bool = False
    """True if the submission could not be read; the score is then None, and what a system has is left as it is."""
    comments: tuple[str, ...] = ()
    """What the instructor says, and that the work was graded again, a line each."""

    @property
    def shown_score(self) -> str:
        """The score as people and systems write it; empty without a mark."""
        return "" if self.score is None else points(self.score)

    @property
    def remarks(self) -> str:
        """Reasons and comments in one spreadsheet cell."""
        return spreadsheet_cell(" / ".join((*self.reasons, *self.comments)), WHOLE_COMMENT)


def may_belong_to(row: Row, name: str) -> bool:
    """Return True if a row found by number may be the student with this name in a system's file.

    The roster's numbers have been compared with names before. Other numbers may be a group's.
    """
    known = bool(row.person.id) or not name or is_placeholder_name(row.person.name)
    return known or agree(row.person.name, name)


def rows(result: ClassResult) -> list[Row]:
    """Return the rows of all students; those who handed in nothing come last."""
    finals = [s.mark.max_score for s in result.submissions if s.mark is not None]
    full = max(finals or [s.max_score for s in result.submissions], default=0.0)
    found = [_row(submission, full) for submission in result.submissions]
    for absent in result.absent:
        mark = absent.mark
        said = tuple(comment_lines(absent.comments))
        if mark is None:
            found.append(Row("", absent.person, None, full, comments=said))
        else:
            found.append(
                Row("", absent.person, mark.score, full, mark.reasons, mark.score is None, comments=said)
            )
    return found


def _row(submission: SubmissionResult, full: float) -> Row:
    """Return one student's row; `full` is the full mark of those whose own is unknown."""
    person, mark = submission.person or Person(name=submission.student), submission.mark
    again = regrade_told(submission)
    said = (*([again] if again else []), *comment_lines(submission.comments))
    if submission.awaits_mark:
        return Row(submission.student, person, None, full, unread=True, comments=said)
    if mark is None:
        return Row(submission.student, person, submission.score, submission.max_score, comments=said)
    excused = mark.score is None
    return Row(submission.student, person, mark.score, mark.max_score, mark.reasons, excused, comments=said)


def refuse_other_full_mark(what: str, theirs: str, ours: float, report: Path) -> None:
    """Refuse to write marks into a column that counts from another full mark: 6 of 6 would be 6 of 100.

    Args:
        what: Korean name of the column.
        theirs: its full mark as the system writes it; ignored if it is no number, as for a scale of words.
        ours: full mark of the rows; 0 if there is none.
        report: folder of the results, for the command.

    Raises:
        ExportError: they differ; says how to scale the marks.
    """
    try:
        full = float(theirs.replace(",", "."))
    except ValueError:
        return
    if not full or not ours or abs(full - ours) < _SAME_FULL_MARK:
        return
    kept = report / "policy.toml"
    policy, option = (kept, "") if kept.is_file() else (Path("policy.toml"), " --policy policy.toml")
    raise ExportError(
        f"{what} 만점은 {points(full)}점인데 여기 점수는 {points(ours)}점 만점이라서 적지 않았어요. "
        f"그대로 적으면 다 맞은 학생이 {points(full)}점 가운데 {points(ours)}점이 돼요. "
        f"{policy}의 맨 위에 out_of = {points(full)} 한 줄을 적고 "
        f"점수를 다시 계산한 다음 내보내 주세요: grader mark {shlex.quote(str(report))}{option}"
    )


def column_asked_for(template: Table, name: str, path: Path) -> int:
    """Return the index of the column to fill: the one of this very title, or else the only one apart from spacing.

    Raises:
        ExportError: the file has no column of this name, or several.
    """
    for plain in (str, _loosely):
        found = [at for at, title in enumerate(template.header) if plain(title) == plain(name)]
        if len(found) == 1:
            return found[0]
        if found:
            raise ExportError(
                f"{path}에 '{name}' 열이 {len(found)}개 있어서 어느 것에 점수를 적을지 모르겠어요. "
                "열의 이름을 서로 다르게 바꾸고 다시 내보내 주세요."
            )
    raise ExportError(
        f"{path}에 '{name}' 열이 없어요. 있는 열: {', '.join(template.header)}. --column에 그대로 적어 주세요."
    )


def _loosely(title: str) -> str:
    return " ".join(title.replace("_", " ").casefold().split())
