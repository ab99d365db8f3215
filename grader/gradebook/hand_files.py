"""Edit the files in which an instructor judges by hand, line by line: `overrides.csv` and `comments.csv`.

Columns that are not ours, lines above the titles and lines that are not touched stay as they are. The caller holds a
lock while it reads, edits and writes.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from grader.base.files import write_whole
from grader.base.headings import find_columns
from grader.base.tables import read_table

_WORKBOOK = ".xlsx"


@dataclass(frozen=True)
class HandLine:
    """One line: whom it concerns and what it says."""

    id: str
    """Student number; empty if the student has only a name."""
    name: str
    """Name: for people who read the file, or, without a number, the name in the results."""
    exercise: str
    score: str
    """As written: `3`, `+1`, `-0.5`, `면제`; empty in `comments.csv`."""
    text: str
    """Reason or comment."""
    rule: str = ""
    """What the line was written for: `실수:missing-zero-grad`, `묶음:1a2b3c4d5e`; empty for a single student."""
    answer: str = ""
    """Fingerprint of the answer that was judged (`Answers.fingerprint`); empty if nobody noted it."""

    def as_document(self) -> dict[str, str]:
        """Return the line as the log has it."""
        return asdict(self)


@dataclass(frozen=True)
class HandFile:
    """A kind of file: its name, and the column of each field."""

    name: str
    titles: Mapping[str, str]
    """Field of `HEADINGS` -> title that we write; `score` is missing in a file without points."""
    text_field: str
    """Field of `HEADINGS` that holds `HandLine.text`."""

    def read(self, folder: Path) -> "Sheet":
        """Read the file in a report's folder; a missing one is empty.

        Raises:
            TableError: it cannot be read.
        """
        path = folder / self.name
        source = path if path.exists() else path.with_suffix(_WORKBOOK)
        return self.read_from(source, path)

    def read_from(self, source: Path, path: Path) -> "Sheet":
        """Read the lines of `source`, to be written to `path`; a missing file is empty.

        Raises:
            TableError: it cannot be read.
        """
        if not source.exists():
            return Sheet(self, path, [*self.titles.values()], [])
        table = read_table(source, self.name, ("id", self.text_field))
        header = list(table.header)
        places = find_columns(header, [*self.titles])
        for name, at in places.items():
            if at is None:
                header.append(self.titles[name])
        rows = []
        for row in table.rows:
            cells = {name: "" if at is None else row[at] for name, at in places.items()}
            line = HandLine(
                cells["id"],
                cells["name"],
                cells["exercise"],
                cells.get("score", ""),
                cells[self.text_field],
                cells["rule"],
                cells["answer"],
            )
            ours = {at for at in places.values() if at is not None}
            others = {title: row[at] for at, title in enumerate(table.header) if at not in ours}
            rows.append(_Row(line, others))
        return Sheet(self, path, header, rows, table.above)


OVERRIDES = HandFile(
    "overrides.csv",
    {
        **{"id": "학번", "name": "이름", "exercise": "연습", "score": "점수", "reason": "까닭"},
        **{"rule": "규칙", "answer": "본 답"},
    },
    "reason",
)
COMMENTS = HandFile(
    "comments.csv",
    {
        "id": "학번",
        "name": "이름",
        "exercise": "연습",
        "comment": "코멘트",
        "rule": "규칙",
        "answer": "본 답",
    },
    "comment",
)
HAND_FILES = {file.name: file for file in (OVERRIDES, COMMENTS)}


@dataclass
class _Row:
    line: HandLine
    others: dict[str, str] = field(default_factory=dict)
    """Cells of columns that are not ours, by title."""


class Sheet:
    """The lines of one file, to be changed and written."""

    def __init__(
        self,
        file: HandFile,
        path: Path,
        header: list[str],
        rows: list[_Row],
        above: Sequence[Sequence[str]] = (),
    ) -> None:
        self._file, self._path, self._header, self._rows, self._above = file, path, header, rows, above

    @property
    def lines(self) -> list[HandLine]:
        """All lines, in order."""
        return [row.line for row in self._rows]

    def copy(self) -> "Sheet":
        """Return a sheet of the same lines, to try an edit on."""
        return Sheet(self._file, self._path, self._header, [*self._rows], self._above)

    def remove(self, line: HandLine) -> bool:
        """Remove the last line that equals this one; return False if there is none."""
        for at in range(len(self._rows) - 1, -1, -1):
            if self._rows[at].line == line:
                del self._rows[at]
                return True
        return False

    def add(self, line: HandLine) -> None:
        """Append a line."""
        self._rows.append(_Row(line))

    def write(self) -> None:
        """Write the file atomically; without lines it is removed, since a table without lines cannot be read.

        Raises:
            OSError: it cannot be written; the old content is still there.
        """
        if not self._rows:
            self._path.unlink(missing_ok=True)
        else:
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            writer.writerows([*self._above, self._header])
            writer.writerows(self._cells(row) for row in self._rows)
            write_whole(self._path, text.getvalue().encode("utf-8-sig", "replace"))
        self._path.with_suffix(_WORKBOOK).unlink(missing_ok=True)

    def _cells(self, row: _Row) -> list[str]:
        fields = {at: name for name, at in find_columns(self._header, [*self._file.titles]).items()}
        values = {**row.line.as_document(), self._file.text_field: row.line.text}
        return [
            values[fields[at]] if at in fields else row.others.get(title, "")
            for at, title in enumerate(self._header)
        ]
