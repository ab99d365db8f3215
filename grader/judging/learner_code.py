"""The learner's code that was judged: its text, and where each line of it stands in the learner's file or notebook.

Judging reads the text and counts its lines. The learner counts others: the code cells of a notebook are put together
to one text, so that line 7 of it may be line 3 of code cell 2. Feedback names the learner's lines, by
`LearnerCode.place_of`.

Whoever grades makes a `LearnerCode` and gives it to `assess.py assess`:

- of a file or notebook that was handed in, `LearnerCode.of_file`, and of a learner's own, `of_own_file`.
  `submission/source_file.py` has read it, kept what can be graded, and noted the place of each line (for a new kind
  of file, its cells are made in `submission/cells.py`);
- of a function in a running notebook, `notebook/check.py`: the text of its cell, whose lines the learner counts as they
  are;
- of a program that no learner wrote, as in tests: `LearnerCode(text)`.

Code that reaches the grader in another way needs its text and, if the learner counts its lines differently, a `Place`
for each line; how a place is told in Korean is `Place.in_words`.
"""

import re
from dataclasses import dataclass

from grader.submission.source_file import Place, SourceFile
from grader.submission.syntax import definition_of

_LINE_NUMBER = re.compile(r"(\d{1,6})번째 줄(?=: )")
"""Matches the beginning of a warning that names a line of the text (`7번째 줄: …`); the group is the line's number.

`observe/program.py`, `observe/absent_gpu.py` and `observe/deprecated_calls.py` write such warnings.
"""


@dataclass(frozen=True)
class LearnerCode:
    """The text of the learner's program, and the place of each line in the file or notebook that it comes from."""

    text: str
    """The program as it was played, which may be less than the learner handed in: what is not graded is blank."""
    places: tuple[Place, ...] = ()
    """The place of each line of `text`, beginning with line 1.

    Empty if the learner counts the lines of `text` as they are, as in the running cell of a notebook. A last line that
    only holds the learner's own modules (`SourceFile.modules`) has no place.
    """
    file: str | None = None
    """Name of the learner's file; None if feedback must not name a file, as in a running notebook."""

    @classmethod
    def of_file(cls, file: SourceFile) -> "LearnerCode":
        """Return the code that was read from a file of a submission."""
        return cls(file.program, file.places, file.name)

    @classmethod
    def of_own_file(cls, file: SourceFile, exercise: str) -> "LearnerCode":
        """Return the code of a learner's own file, for feedback on one exercise.

        Lines of the cell that defines the exercise name no cell: JupyterLab shows no numbers of cells, and counts lines
        in each as they are.
        """
        code = cls.of_file(file)
        definition = definition_of(file.program, exercise)
        place = None if definition is None else code.place_of(definition.lineno)
        if place is None or place.cell is None:
            return code
        places = (Place(None, one.line) if one.cell == place.cell else one for one in file.places)
        return cls(code.text, tuple(places), code.file)

    def place_of(self, line: int | None) -> Place | None:
        """Return where the learner finds this line of `text`, counted from 1.

        None if `line` is None or `places` lacks it. If there are no `places`, the line keeps its number, and the place
        names no cell.
        """
        if line is None:
            return None
        if not self.places:
            return Place(None, line)
        return self.places[line - 1] if 0 < line <= len(self.places) else None

    def line_text(self, line: int | None) -> str | None:
        """Return a line of `text` without the spaces around it; None if there is no such line."""
        lines = self.text.split("\n")  # as Python counts: splitlines() also breaks at form feeds
        if line is None or not 0 < line <= len(lines):
            return None
        return lines[line - 1].strip()

    def warning_with_place(self, warning: str) -> str:
        """Return a warning with the learner's place instead of the line of `text`.

        `7번째 줄: …` becomes `코드 셀 2의 3번째 줄: …`. A warning is returned unchanged if it names no line, or a line
        without a place.
        """
        match = _LINE_NUMBER.match(warning)
        if match is None:
            return warning
        place = self.place_of(int(match[1]))
        return warning if place is None else f"{place.in_words()}{warning[match.end() :]}"
