"""Replace cells in the text of a CSV file and leave every other character as it is."""

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass

from grader.base.decoding import unix_lines
from grader.base.tables import Table, csv_text

_LINE_END = re.compile(r"\r\n|\r|\n")
_NEEDS_QUOTES = re.compile(r'["\r\n]')


@dataclass(frozen=True)
class _Record:
    """Where one row stands in the text."""

    cells: tuple[tuple[int, int], ...]
    """Begin and end of each cell, quotes included."""

    @property
    def begin(self) -> int:
        return self.cells[0][0]

    @property
    def end(self) -> int:
        return self.cells[-1][1]


def with_cells(text: str, table: Table, cells: Mapping[int, Mapping[int, str]]) -> str:
    """Return the text of a table with new cells.

    Args:
        text: the file's text, with its own line ends.
        table: what was read from it.
        cells: new cells by index of the row and of the column.

    Returns:
        The text, otherwise unchanged. If a changed row cannot be found in it, the whole table written anew.
    """
    records = _records(text, table.delimiter)
    edits: list[tuple[int, int, str]] = []
    for index, own in cells.items():
        record = records.get(table.numbers[index])
        if record is None or not _holds(text, record, table, index):
            return _anew(table, cells)
        missing = max(own) + 1 - len(record.cells)
        for at, value in own.items():
            if at < len(record.cells):
                edits.append((*record.cells[at], _quoted(value, table.delimiter)))
        if missing > 0:  # the row ends before these columns
            tail = [
                _quoted(own.get(at, ""), table.delimiter) for at in range(len(record.cells), max(own) + 1)
            ]
            edits.append((record.end, record.end, "".join(table.delimiter + cell for cell in tail)))
    parts, done = [], 0
    # Stable: what is added behind an empty last cell comes after that cell's new value.
    for begin, end, value in sorted(edits, key=lambda edit: edit[:2]):
        parts += [text[done:begin], value]
        done = end
    return "".join([*parts, text[done:]])


def _records(text: str, delimiter: str) -> dict[int, _Record]:
    """Return the rows by the number of the line on which each ends, as `csv.reader` cuts them."""
    rest = f"[^{re.escape(delimiter)}\r\n]*"
    cell = re.compile(f'"(?:[^"]|"")*"{rest}|{rest}')
    found: dict[int, _Record] = {}
    cells: list[tuple[int, int]] = []
    at, line = 0, 1
    while at <= len(text):
        begin, at = at, cell.match(text, at).end()  # type: ignore[union-attr]  # an empty cell matches anywhere
        cells.append((begin, at))
        line += len(_LINE_END.findall(text, begin, at))
        if text.startswith(delimiter, at):
            at += 1
            continue
        found[line] = _Record(tuple(cells))
        cells = []
        line += 1
        end = _LINE_END.match(text, at)
        at = end.end() if end else len(text) + 1
    return found


def _holds(text: str, record: _Record, table: Table, index: int) -> bool:
    """Return True if this place of the text is the table's row."""
    whole = unix_lines(text[record.begin : record.end])
    rows = list(csv.reader(io.StringIO(whole, newline=""), delimiter=table.delimiter))
    own = [cell.strip() for cell in rows[0]] if len(rows) == 1 else []
    width = len(table.header)
    return len(own) == len(record.cells) and (*own, *[""] * width)[:width] == table.rows[index]


def _quoted(value: str, delimiter: str) -> str:
    if delimiter in value or _NEEDS_QUOTES.search(value):
        return '"' + value.replace('"', '""') + '"'
    return value


def _anew(table: Table, cells: Mapping[int, Mapping[int, str]]) -> str:
    rows = [list(row) for row in (*table.above, table.header)]
    for index, row in enumerate(table.rows):
        own = cells.get(index, {})
        rows.append([own.get(at, old) for at, old in enumerate(row)])
    return csv_text(rows, delimiter=table.delimiter)
