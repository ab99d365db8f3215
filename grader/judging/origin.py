"""The learner's code that was judged, and where in the learner's file or notebook each line of the program stands.

The program of a notebook is its code cells put together, so its line numbers mean nothing to the learner.
"""

import re
from dataclasses import dataclass

from grader.submission.source_file import Place, SourceFile

_LINE_NUMBER = re.compile(r"(\d{1,6})번째 줄(?=: )")
"""Line number with which a warning in a trace begins."""


@dataclass(frozen=True)
class Origin:
    """The learner's code that was judged."""

    file: str | None
    """Name of the learner's file; None if feedback is to name no file, as in a running notebook."""
    source: str
    """Text of the program, or the part of it that defines the exercise."""
    first_line: int
    """Line of the program at which `source` begins, counted from 1."""
    places: tuple[Place, ...] = ()
    """Where the learner finds each line of the program; empty if it is the line with the same number."""

    @classmethod
    def of_file(cls, source: SourceFile) -> "Origin":
        """Return the origin of code that was read from a file of a submission."""
        return cls(source.name, source.text, 1, source.places)

    def place(self, line: int | None) -> Place | None:
        """Return where the learner finds this line of the program, counted from 1; None if nowhere."""
        if line is None:
            return None
        if not self.places:
            return Place(None, line)
        return self.places[line - 1] if 0 < line <= len(self.places) else None

    def line_text(self, line: int | None) -> str | None:
        """Return the text of a line of the program, without the spaces around it; None if `source` lacks the line."""
        lines = self.source.split("\n")  # as Python counts: splitlines() also breaks at form feeds
        index = -1 if line is None else line - self.first_line
        return lines[index].strip() if 0 <= index < len(lines) else None

    def with_place(self, warning: str) -> str:
        """Return a warning with the learner's line: `7번째 줄: …` of the program becomes `코드 셀 2의 3번째 줄: …`."""
        match = _LINE_NUMBER.match(warning)
        place = self.place(int(match[1])) if match else None
        if match is None or place is None:
            return warning
        return f"{place.in_words()}{warning[match.end() :]}"
