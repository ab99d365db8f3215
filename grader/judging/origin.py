"""The learner's code that was judged, to turn a line of the program into one that the learner can find."""

import re
from dataclasses import dataclass

from grader.submission.source_file import Place, SourceFile

_LINE_OF_NOTE = re.compile(r"(\d{1,6})번째 줄(?=: )")
"""Line number at the start of a warning from the trace."""


@dataclass(frozen=True)
class Origin:
    """The learner's code that was judged."""

    file: str | None
    """Name of the file; None for code without a file."""
    source: str
    """The learner's code as it was judged."""
    first_line: int
    """Line of the program at which `source` begins, from 1."""
    places: tuple[Place, ...] = ()
    """Place of each line of the program, from its first; empty if the program's lines are the learner's."""

    @classmethod
    def of_file(cls, source: SourceFile) -> "Origin":
        """Return the origin of code that was read from a file of a submission."""
        return cls(source.name, source.text, 1, source.places)

    def place(self, line: int | None) -> Place | None:
        """Return where the learner finds this line of the program; None if there is no such place."""
        if line is None:
            return None
        if not self.places:
            return Place(None, line)
        return self.places[line - 1] if 0 < line <= len(self.places) else None

    def text(self, line: int | None) -> str | None:
        """Return the line as written, without the spaces around it; None if it is not in the source."""
        lines = self.source.split("\n")  # as Python counts: splitlines() also breaks at form feeds
        index = -1 if line is None else line - self.first_line
        return lines[index].strip() if 0 <= index < len(lines) else None

    def note(self, warning: str) -> str:
        """Turn `7번째 줄: …` of the program into `코드 셀 2의 3번째 줄: …` of the learner's notebook."""
        found = _LINE_OF_NOTE.match(warning)
        place = self.place(int(found[1])) if found else None
        if found is None or place is None:
            return warning
        cell = "" if place.cell is None else f"코드 셀 {place.cell}의 "
        return f"{cell}{place.line}번째 줄{warning[found.end() :]}"
