"""The learner's code that was judged, and where in the learner's file or notebook each of its lines stands.

The program of a notebook is its code cells put together, so its line numbers mean nothing to the learner: line 7 of the
program may be line 3 of code cell 2. Judging works with lines of the program; `Origin` translates them for feedback.
"""

import re
from dataclasses import dataclass

from grader.submission.source_file import Place, SourceFile

_LINE_NUMBER = re.compile(r"(\d{1,6})번째 줄(?=: )")
"""The line of the program with which a warning of a trace begins, in Korean; the group is its number."""


@dataclass(frozen=True)
class Origin:
    """The learner's code that was judged, with the place of each line in the file or notebook that it comes from."""

    file: str | None
    """Name of the learner's file; None if feedback is to name no file, as in a running notebook."""
    source: str
    """Text of the program, from its line 1 on."""
    places: tuple[Place, ...] = ()
    """The place of each line of the program, beginning with line 1.

    Empty if the program is the learner's file itself: then a line keeps its number.
    """

    @classmethod
    def of_file(cls, source: SourceFile) -> "Origin":
        """Return the origin of code that was read from a file of a submission."""
        return cls(source.name, source.program, source.places)

    def place(self, line: int | None) -> Place | None:
        """Return where the learner finds this line of the program, counted from 1; None if the line is not known."""
        if line is None:
            return None
        if not self.places:
            return Place(None, line)
        return self.places[line - 1] if 0 < line <= len(self.places) else None

    def line_text(self, line: int | None) -> str | None:
        """Return the text of a line of the program without the spaces around it; None if `source` lacks the line."""
        lines = self.source.split("\n")  # as Python counts: splitlines() also breaks at form feeds
        index = -1 if line is None else line - 1
        return lines[index].strip() if 0 <= index < len(lines) else None

    def warning_with_place(self, warning: str) -> str:
        """Return a warning with the learner's place instead of the program's line.

        `7번째 줄: …` becomes `코드 셀 2의 3번째 줄: …`. A warning without a line is returned unchanged.
        """
        match = _LINE_NUMBER.match(warning)
        place = self.place(int(match[1])) if match else None
        if match is None or place is None:
            return warning
        return f"{place.in_words()}{warning[match.end() :]}"
