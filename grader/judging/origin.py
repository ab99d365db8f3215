"""The learner's code that was judged, and where in the learner's file or notebook each of its lines stands.

The program of a notebook is its code cells put together, so its line numbers mean nothing to the learner: line 7 of the
program may be line 3 of code cell 2. Judging works with lines of the program; `Origin` translates them for feedback.
Whoever grades makes it (`grading/`, `notebook/check.py`) and gives it to `assess.py assess`. The places themselves come
from `submission/source_file.py`, which also says them in Korean (`Place.in_words`); what else is known of a place goes
there.
"""

import re
from dataclasses import dataclass

from grader.submission.source_file import Place, SourceFile

_LINE_NUMBER = re.compile(r"(\d{1,6})번째 줄(?=: )")
"""Matches the beginning of a warning that names a line of the program (`7번째 줄: …`); the group is the line's number.

`observe/program.py`, `observe/absent_gpu.py` and `observe/deprecated_calls.py` write such warnings.
"""


@dataclass(frozen=True)
class Origin:
    """The learner's code that was judged, with the place of each line in the file or notebook that it comes from."""

    file: str | None
    """Name of the learner's file; None if feedback must not name a file, as in a running notebook."""
    source: str
    """Text of the program, from its line 1 on."""
    places: tuple[Place, ...] = ()
    """The place of each line that the learner wrote, beginning with line 1.

    `source` may have one more line, which holds the learner's own modules that it imports. Empty if a line has the same
    number for the learner as in `source`, as in the running cell of a notebook.
    """

    @classmethod
    def of_file(cls, file: SourceFile) -> "Origin":
        """Return the origin of code that was read from a file of a submission."""
        return cls(file.name, file.program, file.places)

    def place(self, line: int | None) -> Place | None:
        """Return where the learner finds this line of the program, counted from 1.

        None if `line` is None or `places` lacks it. If there are no `places`, the line keeps its number, and the place
        names no cell.
        """
        if line is None:
            return None
        if not self.places:
            return Place(None, line)
        return self.places[line - 1] if 0 < line <= len(self.places) else None

    def line_text(self, line: int | None) -> str | None:
        """Return the text of a line of the program without the spaces around it; None if `source` lacks the line."""
        lines = self.source.split("\n")  # as Python counts: splitlines() also breaks at form feeds
        if line is None or not 0 < line <= len(lines):
            return None
        return lines[line - 1].strip()

    def warning_with_place(self, warning: str) -> str:
        """Return a warning with the learner's place instead of the program's line.

        `7번째 줄: …` becomes `코드 셀 2의 3번째 줄: …`. A warning is returned unchanged if it names no line, or a line
        without a place.
        """
        match = _LINE_NUMBER.match(warning)
        if match is None:
            return warning
        place = self.place(int(match[1]))
        return warning if place is None else f"{place.in_words()}{warning[match.end() :]}"
