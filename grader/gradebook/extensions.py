"""Read personal deadlines and excuses from a table and from `[[extensions]]` of a policy, and find whose they are.

A column of the table is a field of `base/headings.py HEADINGS`; the policy's counterpart is `policy.py ExtensionEntry`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from grader.base.errors import HanstepError
from grader.base.headings import find_columns
from grader.base.names import listed
from grader.base.tables import read_table, refuse_rounded_numbers, student_number
from grader.gradebook.policy import Policy
from grader.gradebook.times import Order, read_time
from grader.report.plain_text import one_line

EXCUSED_WORDS = frozenset(("면제", "excused", "exempt", "ex"))
"""What a cell says instead of a deadline, or of a score (`overrides.py`), to excuse a student."""
_YES = EXCUSED_WORDS | {"예", "네", "o", "y", "yes", "true", "1", "v", "✓"}
_NO = frozenset(("", "아니오", "아니요", "x", "n", "no", "false", "0", "-"))
_FIELDS = ("id", "name", "until", "excused", "reason")
"""Columns that are read, as fields of `HEADINGS`; the next line tells the instructor of them."""
_HOW_TO_WRITE_THE_HEADER = "첫 줄을 이렇게 적어 주세요: 학번,마감,면제,까닭"
_HOW_TO_WRITE_A_TIME = "이렇게 적어 주세요: 2026-03-25 23:59"


class ExtensionError(HanstepError):
    """A personal deadline or an excuse cannot be applied; the message is Korean and names the line."""


@dataclass(frozen=True)
class Extension:
    """A personal deadline, or an excuse."""

    where: str
    """Place in the file, for messages: `extensions.csv 3번째 줄`, `policy.toml의 2번째 [[extensions]]`."""
    student: str
    """Number, cleaned of what spreadsheets add to it, or a name: the roster's or that in the results."""
    until: datetime | None
    """Personal deadline; None for an excuse. Without a time zone, the policy's is meant."""
    reason: str = ""
    """What the instructor wrote; shown with an excuse only."""

    @property
    def excused(self) -> bool:
        """True if the student need not hand in at all."""
        return self.until is None


def read_extensions(path: Path, order: Order | None) -> tuple[Extension, ...]:
    """Read personal deadlines and excuses from a table; in a line with both, the excuse counts.

    Args:
        path: the table.
        order: whether 3/4/2026 names the day or the month first; None: dates that could be either are refused.

    Raises:
        TableError: the file cannot be read, or Excel has rounded its numbers.
        ExtensionError: a column is missing; a line gives neither a deadline that can be read nor an excuse; or a word
            in the column of excuses is neither a yes nor a no.
    """
    table = read_table(path, "기한을 늘려 준 학생", ("id", "until"))
    places = find_columns(table.header, _FIELDS)
    # Where the number stands, or the only name; a line without a number may still give a name.
    student_at = places["name"] if places["id"] is None else places["id"]
    if student_at is None or (places["until"] is None and places["excused"] is None):
        raise ExtensionError(
            f"{path}: 학번과 마감(또는 면제) 열이 있어야 해요 (있는 열: {listed(table.header)}). "
            f"{_HOW_TO_WRITE_THE_HEADER}"
        )
    refuse_rounded_numbers(table, student_at, "기한을 늘려 준 학생")
    found = []
    for number, row in zip(table.numbers, table.rows, strict=True):
        cells = {field: "" if at is None else row[at] for field, at in places.items()}
        where = f"{path} {number}번째 줄"
        student = student_number(cells["id"]) or cells["name"]
        excused = _is_excused(cells["excused"], where) or cells["until"].casefold() in EXCUSED_WORDS
        until = None if excused else _deadline(cells["until"], order, where)
        found.append(Extension(where, student, until, one_line(cells["reason"])))
    return tuple(found)


def extensions_of_policy(policy: Policy, path: str) -> tuple[Extension, ...]:
    """Return the personal deadlines and excuses that stand in a policy.

    Args:
        policy: the policy.
        path: where it was read, for messages.

    Raises:
        ExtensionError: an entry gives both a deadline and an excuse, or neither.
    """
    found = []
    for number, entry in enumerate(policy.extensions, start=1):
        where = f"{path}의 {number}번째 [[extensions]]"
        if entry.excused == (entry.until is not None):
            raise ExtensionError(
                f"{where}: until(늘려 준 마감)과 excused = true(면제) 가운데 하나만 적어 주세요."
            )
        found.append(Extension(where, str(entry.student), entry.until, one_line(entry.reason)))
    return tuple(found)


def extensions_by_student(
    extensions: tuple[Extension, ...], known_as: Mapping[str, list[str]]
) -> dict[str, Extension]:
    """Return each student's extension by the student's key.

    Args:
        extensions: all personal deadlines and excuses.
        known_as: number or name, casefolded -> keys of the students who may be meant (`marking.known_as`).

    Raises:
        ExtensionError: an extension names an unknown or ambiguous student, or one who has another extension.
    """
    found: dict[str, Extension] = {}
    for one in extensions:
        meant = known_as.get(one.student.casefold(), [])
        if len(meant) != 1:
            what = "이 학생을 찾지 못했어요" if not meant else "이 학번이나 이름의 학생이 여럿이에요"
            shown = one_line(one.student, 80)
            raise ExtensionError(f"{one.where}: {what}: '{shown}'. 명단의 학번으로 적어 주세요.")
        if (before := found.get(meant[0])) is not None:
            raise ExtensionError(
                f"{one.where}: 같은 학생이 {before.where}에 또 있어요: '{one_line(one.student, 80)}'. "
                "하나만 남겨 주세요."
            )
        found[meant[0]] = one
    return found


def _deadline(text: str, order: Order | None, where: str) -> datetime:
    """Return the time in a cell of deadlines, or raise ExtensionError."""
    when = read_time(text, order)
    if when is None:
        shown = one_line(text, 60)
        what = f"마감을 읽을 수 없어요: '{shown}'." if shown else "마감도 면제도 적혀 있지 않아요."
        raise ExtensionError(f"{where}: {what} {_HOW_TO_WRITE_A_TIME}")
    return when


def _is_excused(text: str, where: str) -> bool:
    """Return whether a cell of the column of excuses says yes, or raise ExtensionError."""
    word = text.strip().casefold()
    if word in _YES:
        return True
    if word in _NO:
        return False
    raise ExtensionError(
        f"{where}: 면제인지 알 수 없어요: '{one_line(text, 40)}'. 면제라면 '면제'라고 적고, 아니면 비워 주세요."
    )
