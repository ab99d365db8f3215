"""Read instructors' tables, CSV or Excel, as portals, spreadsheets and learning systems save them.

Columns are found by the titles in `base/headings.py`, in whatever row they stand: portals write lines above them.
"""

import csv
import io
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.base.decoding import ReadError, read_bytes, read_text
from grader.base.errors import HanstepError
from grader.base.headings import find_column, find_columns
from grader.base.names import display_name, listed, short
from grader.base.workbook import WorkbookError, is_workbook, read_sheets

_DELIMITERS = ",;\t"
_MOST_ROWS = 200_000
"""Maximum number of filled rows, the header included."""
_HEADER_WITHIN = 40
"""Number of filled rows among which the row of titles is looked for."""
_SEPARATOR_LINE = re.compile(r"sep=([,;\t]) *", re.IGNORECASE)
"""The line by which Excel tells itself the delimiter."""

_Rows = list[tuple[int, tuple[str, ...]]]
"""Number and cells of each filled row."""


class TableError(HanstepError):
    """A table cannot be used; the message is Korean and says what to fix."""


@dataclass(frozen=True)
class Table:
    """The content of a CSV file, or of a sheet of a workbook."""

    path: Path
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """Rows below the header, each as long as the header; rows without any text are left out."""
    numbers: tuple[int, ...]
    """For each row, the line of the file on which it ends, from 1, as an editor shows it."""
    delimiter: str
    above: tuple[tuple[str, ...], ...] = ()
    """Rows above the header, such as the title of a course."""

    def column(self, field: str) -> int | None:
        """Return the index of the column that holds a field of `HEADINGS`; None if there is none."""
        return find_column(self.header, field)


def read_table(path: Path, what: str, needed: Collection[str] = ()) -> Table:
    """Read a CSV file, whatever its encoding and delimiter (comma, semicolon or tab), or an Excel workbook.

    Args:
        path: the file.
        what: Korean name of what the file holds, for messages: `명단`.
        needed: fields that tell the row of titles, which is the first row with all of them, or else with the most.

    Raises:
        TableError: the file cannot be read, is no table, has no row below its header, or has too many rows.
    """
    shown = display_name(str(path))
    try:
        data = read_bytes(path)
        if is_workbook(data):
            rows, delimiter = _sheet(read_sheets(data), needed, f"{what} 파일({shown})"), ","
        else:
            rows, delimiter = _csv_rows(read_text(path), needed)
    except (ReadError, WorkbookError) as error:
        raise TableError(f"{what} 파일을 읽을 수 없어요: {shown}. {why_unread(error)}") from error
    except csv.Error as error:
        raise TableError(
            f"{what} 파일이 CSV가 아니에요: {shown} ({error}). Excel이라면 'CSV UTF-8'로 다시 저장해 주세요."
        ) from error
    if len(rows) > _MOST_ROWS:
        raise TableError(
            f"{what} 파일에 줄이 너무 많아요: {shown} ({len(rows):,}줄). {_MOST_ROWS:,}줄까지 읽어요."
        )
    at = _header_at(rows, needed)
    if len(rows) < at + 2:
        raise TableError(
            f"{what} 파일에 줄이 없어요: {shown}. 첫 줄에는 열 이름이, 그 아래에는 내용이 있어야 해요."
        )
    header = rows[at][1]
    return Table(
        path,
        header,
        tuple(_as_long_as(header, row) for _, row in rows[at + 1 :]),
        tuple(number for number, _ in rows[at + 1 :]),
        delimiter,
        tuple(row for _, row in rows[:at]),
    )


def why_unread(error: ReadError | WorkbookError) -> str:
    """Return Korean text on why an instructor's file cannot be read, with advice for instructors.

    The advice in a `ReadError` is for students who hand in code, so it is cut off.
    """
    if isinstance(error, WorkbookError):
        return str(error)
    reason = str(error).split(". ", 1)[0].rstrip(".")
    return f"{reason}. 경로와 내용을 확인하고, 필요하면 UTF-8로 다시 저장해 주세요."


# ---- rows ---------------------------------------------------------------------------------------------


def _csv_rows(text: str, needed: Collection[str]) -> tuple[_Rows, str]:
    """Return the filled rows of a CSV text and its delimiter: the one with which most needed columns are found."""
    first, _, rest = text.partition("\n")
    if told := _SEPARATOR_LINE.fullmatch(first):
        text, delimiter = f"\n{rest}", told[1]
    else:
        begin = text[:20_000]

        def fit(delimiter: str) -> tuple[int, int]:
            try:
                rows = list(_parsed(begin, delimiter))[:_HEADER_WITHIN]
            except csv.Error:
                rows = []
            found = max((_recognised(row, needed) for _, row in rows), default=0)
            return found, sum(len(row) for _, row in rows)

        delimiter = max(_DELIMITERS, key=fit)
    return list(_parsed(text, delimiter)), delimiter


def _parsed(text: str, delimiter: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    reader = csv.reader(io.StringIO(text), delimiter=delimiter)
    for row in reader:
        cells = tuple(cell.strip() for cell in row)
        if any(cells):
            yield reader.line_num, cells


def _sheet(sheets: dict[str, _Rows], needed: Collection[str], shown: str) -> _Rows:
    """Return the filled rows of the only sheet that has the needed columns.

    A further sheet that repeats the first one's people (a list of attendance, say) is passed over.

    Raises:
        TableError: several sheets hold people, and it is unknown which are meant.
    """
    filled = {name: [(number, row) for number, row in rows if any(row)] for name, rows in sheets.items()}
    tables = {name: rows for name, rows in filled.items() if _has_all(rows, needed)}
    if not tables:
        return next((rows for rows in filled.values() if rows), [])
    (_, first), *others = tables.items()
    keys = _first_needed(first, needed)
    more = [name for name, rows in others if not _first_needed(rows, needed) <= keys]
    if more:
        raise TableError(
            f"{shown}에 표가 든 시트가 여럿이라 어느 것을 읽을지 모르겠어요: {listed(tables)}. "
            "쓸 시트만 남기거나, 그 시트를 'CSV UTF-8'로 저장해 주세요."
        )
    return first


def _has_all(rows: _Rows, needed: Collection[str]) -> bool:
    return any(_recognised(row, needed) == len(needed) for _, row in rows[:_HEADER_WITHIN])


def _first_needed(rows: _Rows, needed: Collection[str]) -> set[str]:
    """Return the values of the first needed column."""
    at = _header_at(rows, needed)
    column = find_column(rows[at][1], next(iter(needed))) if needed else None
    return set() if column is None else {row[column] for _, row in rows[at + 1 :] if len(row) > column} - {""}


def _recognised(row: Sequence[str], needed: Collection[str]) -> int:
    return sum(at is not None for at in find_columns(row, needed).values())


def _header_at(rows: _Rows, needed: Collection[str]) -> int:
    """Return the index of the row of titles: the first with all needed fields, or else with most of them."""
    counts = [_recognised(row, needed) for _, row in rows[:_HEADER_WITHIN]]
    return counts.index(max(counts)) if counts and needed else 0


def _as_long_as(header: Sequence[str], row: tuple[str, ...]) -> tuple[str, ...]:
    """Cut a row, or fill it up with empty cells, to the length of the header."""
    return (*row, *("" for _ in range(len(header) - len(row))))[: len(header)]


# ---- student numbers ----------------------------------------------------------------------------------

_FLOAT = re.compile(r"(\d+)\.0+")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
_AS_FORMULA = re.compile(r'="(.*)"')
_ROUNDED = re.compile(r"\d(?:\.\d+)?[eE]\+\d+")
"""Matches a number that Excel has rounded, `2.021E+08`; not a student number such as `2021E005`."""


def student_number(cell: str) -> str:
    """Return a student number as the university writes it, out of a cell as spreadsheets and pandas write it.

    `20191234.0` is pandas' way, `20,191,234` Excel's, `'00123456` and `="00123456"` are ways to keep zeros in front.
    """
    text = unicodedata.normalize("NFKC", cell).strip().removeprefix("'")
    if formula := _AS_FORMULA.fullmatch(text):
        text = formula[1].strip()
    if _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    whole = _FLOAT.fullmatch(text)
    return whole[1] if whole else text


def refuse_rounded_numbers(table: Table, at: int, what: str) -> None:
    """Refuse student numbers that Excel has rounded: several students would have one number, or a wrong one.

    Raises:
        TableError: names the rows and the values.
    """
    rounded = [
        f"{number}번째 줄 '{short(row[at])}'"
        for number, row in zip(table.numbers, table.rows, strict=True)
        if _ROUNDED.fullmatch(row[at])
    ]
    if rounded:
        raise TableError(
            f"{what}의 학번이 2.021E+08 같은 꼴이라 읽을 수 없어요: {display_name(str(table.path))}: "
            f"{listed(rounded)}. "
            "Excel이 학번을 수로 바꾸면서 뒷자리를 지웠어요. 처음 내려받은 파일을 그대로 주거나, Excel에서 학번 열의 "
            "서식을 '텍스트'로 바꾸고 학번을 다시 붙여 넣은 다음 '.xlsx'로 저장해 주세요."
        )


def csv_text(rows: Sequence[Sequence[str]], *, delimiter: str = ",") -> str:
    """Return rows as the text of a CSV file, with the line ends that spreadsheets write (CRLF)."""
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, lineterminator="\r\n").writerows(rows)
    return file.getvalue()
