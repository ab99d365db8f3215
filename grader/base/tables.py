"""Read instructors' CSV files, saved by Excel or downloaded from an LMS, into tables with columns found by name."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.base.decoding import ReadError, read_text
from grader.base.errors import HanstepError
from grader.base.names import display_name

_DELIMITERS = ",;\t"
_MOST_ROWS = 200_000
"""Maximum number of filled rows, the header included."""


class TableError(HanstepError):
    """A CSV file cannot be used; the message is Korean and says what to fix."""


@dataclass(frozen=True)
class Table:
    """The content of a CSV file."""

    path: Path
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """Rows below the header, each as long as the header; rows without any text are left out."""
    numbers: tuple[int, ...]
    """For each row, the line of the file on which it ends, from 1, as an editor shows it."""
    delimiter: str

    def column(self, *names: str) -> int | None:
        """Return the index of the column with one of these names, ignoring case and spacing; None if there is none.

        An earlier name is preferred to a later one.

        Args:
            names: names as `plain_header` returns them.
        """
        plain = [plain_header(title) for title in self.header]
        return next((plain.index(name) for name in names if name in plain), None)


def plain_header(title: str) -> str:
    """Return a column's title in the form in which titles are compared: lower case, single spaces, no underscores."""
    return " ".join(title.replace("_", " ").casefold().split())


def read_table(path: Path, what: str) -> Table:
    """Read a CSV file, whatever its encoding and delimiter (comma, semicolon or tab).

    Args:
        path: the file.
        what: Korean name of what the file holds, for messages: `명단`.

    Raises:
        TableError: the file cannot be read, is not CSV, has no row below its header, or has too many rows.
    """
    shown = display_name(str(path))
    try:
        text = read_text(path)
    except ReadError as error:
        raise TableError(f"{what} 파일을 읽을 수 없어요: {shown}. {why_unread(error)}") from error
    first = text.lstrip("\n").split("\n", 1)[0]
    delimiter = max(_DELIMITERS, key=first.count)
    try:
        reader = csv.reader(io.StringIO(text), delimiter=delimiter)
        lines = [(reader.line_num, tuple(cell.strip() for cell in row)) for row in reader]
    except csv.Error as error:
        raise TableError(
            f"{what} 파일이 CSV가 아니에요: {shown} ({error}). Excel이라면 'CSV UTF-8'로 다시 저장해 주세요."
        ) from error
    filled = [(number, row) for number, row in lines if any(row)]
    if len(filled) < 2:
        raise TableError(
            f"{what} 파일에 줄이 없어요: {shown}. 첫 줄에는 열 이름이, 그 아래에는 내용이 있어야 해요."
        )
    if len(filled) > _MOST_ROWS:
        raise TableError(
            f"{what} 파일에 줄이 너무 많아요: {shown} ({len(filled):,}줄). {_MOST_ROWS:,}줄까지 읽어요."
        )
    header = filled[0][1]
    return Table(
        path,
        header,
        tuple(_as_long_as(header, row) for _, row in filled[1:]),
        tuple(number for number, _ in filled[1:]),
        delimiter,
    )


def why_unread(error: ReadError) -> str:
    """Return Korean text on why an instructor's file cannot be read, with advice for instructors.

    The advice in the error itself is for students who hand in code, so it is cut off.
    """
    reason = str(error).split(". ", 1)[0].rstrip(".")
    return f"{reason}. 경로와 내용을 확인하고, 필요하면 UTF-8로 다시 저장해 주세요."


def _as_long_as(header: Sequence[str], row: tuple[str, ...]) -> tuple[str, ...]:
    """Cut a row, or fill it up with empty cells, to the length of the header."""
    return (*row, *("" for _ in range(len(header) - len(row))))[: len(header)]


def csv_text(rows: Sequence[Sequence[str]], *, delimiter: str = ",") -> str:
    """Return rows as the text of a CSV file, with the line ends that spreadsheets write (CRLF)."""
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, lineterminator="\r\n").writerows(rows)
    return file.getvalue()
