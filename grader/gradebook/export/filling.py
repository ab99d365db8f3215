"""Fill the marks of a class into a table that a learning system exported, without losing what stands there."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from grader.base.csv_cells import with_cells
from grader.base.decoding import decode_unchanged, read_bytes
from grader.base.tables import Table
from grader.base.workbook import is_workbook
from grader.gradebook.export.rows import Row

UTF_8, UTF_8_WITH_MARK = "utf-8", "utf-8-sig"
"""Encodings that Canvas and Moodle write and read."""
EXCUSED = "EX"
"""What Canvas writes and reads for a student who need not hand in."""
_KEPT_EXCUSED, _KEPT_SCORE = "면제(EX)", "이미 있는 점수"
OVERWRITABLE = (_KEPT_EXCUSED, _KEPT_SCORE)
"""Reasons for keeping a value that do not hold if everything is to be overwritten."""
_NOT_ASSIGNED = "N/A"
"""What Canvas writes where a student has not been given the assignment; it ignores what is imported there."""


@dataclass(frozen=True)
class Change:
    """A cell whose value and whose new mark differ."""

    who: str
    old: str
    new: str
    kept: str = ""
    """Korean reason why the old value stays; empty if the new one is written."""


@dataclass(frozen=True)
class Filled:
    """A table with marks filled in."""

    text: str
    left_out: tuple[str, ...]
    """Students who are not in the table."""
    changes: tuple[Change, ...] = ()
    encoding: str = UTF_8
    """Encoding of the table as it was given."""

    @property
    def data(self) -> bytes:
        """The file's bytes, in UTF-8, which Canvas and Moodle expect.

        A mark of UTF-8 stands before them unless the table was UTF-8 without one: Excel on a Korean Windows, which
        saves cp949, misreads Hangul without it.
        """
        return self.text.encode(UTF_8 if self.encoding == UTF_8 else UTF_8_WITH_MARK, "replace")


@dataclass
class Filling:
    """Collects the new cells of a table, row by row."""

    table: Table
    at: int
    """Index of the column of marks."""
    overwrite: bool
    """True to replace marks that are there."""
    cells: dict[int, dict[int, str]] = field(default_factory=dict)
    """New cells by row and column."""
    changes: list[Change] = field(default_factory=list)
    found: set[int] = field(default_factory=set)
    """Identities of the rows whose students are in the table."""

    def put(self, index: int, row: Row, new: str, who: str, *, locked: str = "") -> bool:
        """Fill in the mark of one student, and return whether it stands there afterwards.

        Args:
            index: row of the table.
            row: the student's mark.
            new: the mark as the system reads it; empty for none.
            who: the student as the table writes it.
            locked: Korean reason why the system takes no mark for this student; empty if it does.
        """
        self.found.add(id(row))
        old = self.table.rows[index][self.at]
        if not new:
            return False
        if _same(old, new):
            return True
        kept = locked or ("" if self.overwrite else _why_kept(old)) or _why_impossible(old)
        self.changes.append(Change(who, old, new, kept))
        if not kept:
            self.cells.setdefault(index, {})[self.at] = new
        return not kept

    def note(self, index: int, at: int | None, text: str) -> None:
        """Write the reasons beside a mark; words that stand there stay unless everything is overwritten."""
        if at is not None and text and (self.overwrite or not self.table.rows[index][at]):
            self.cells.setdefault(index, {})[at] = text

    def done(self, rows: Iterable[Row]) -> Filled:
        """Return the table; every character outside the new cells is as it was, unless it was a workbook.

        Raises:
            ReadError: the table's file has become unreadable meanwhile.
        """
        data = read_bytes(self.table.path)
        text, encoding = ("", UTF_8_WITH_MARK) if is_workbook(data) else decode_unchanged(data)
        left_out = tuple(row.student or row.person.name for row in rows if id(row) not in self.found)
        filled = with_cells(text, self.table, self.cells)
        return Filled(filled, left_out, tuple(self.changes), encoding)


def _why_kept(old: str) -> str:
    """Return why a value is kept; empty if there is none."""
    if old in ("", "-"):
        return ""
    if _why_impossible(old):
        return _why_impossible(old)
    return _KEPT_EXCUSED if old.casefold() == EXCUSED.casefold() else _KEPT_SCORE


def _why_impossible(old: str) -> str:
    return "과제를 받지 않은 학생(N/A)" if old.casefold() == _NOT_ASSIGNED.casefold() else ""


def _same(old: str, new: str) -> bool:
    """Return True for equal marks, compared with two decimals as Canvas compares them."""
    numbers = [_number(text) for text in (old, new)]
    if None in numbers:
        return old.casefold() == new.casefold()
    return numbers[0] == numbers[1]


def _number(text: str) -> float | None:
    try:
        return round(float(text.replace(",", ".")), 2)
    except ValueError:
        return None
