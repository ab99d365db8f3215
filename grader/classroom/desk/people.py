"""Who is who at the desk: short ids for requests, names as they are shown, and names hidden until they are released."""

import hashlib
import re
from collections.abc import Sequence

from grader.course.feedback import ClassResult
from grader.gradebook.hand_files import HandLine
from grader.gradebook.marking import known_as, student_key
from grader.gradebook.overrides import written_student
from grader.report.plain_text import clean, one_line, spreadsheet_cell

_HIDDEN = "○○○"
_SHORTEST_HIDDEN = 2
"""Minimum characters of a name or number that is hidden in texts."""


class People:
    """The students of a class who handed in something, in the order of the results."""

    def __init__(self, result: ClassResult) -> None:
        self._submissions = result.submissions
        self.ids = [_short_id(result.seed, submission.student) for submission in result.submissions]
        self._index = {one: index for index, one in enumerate(self.ids)}
        keys = {student_key(submission): index for index, submission in enumerate(result.submissions)}
        self._known = {
            name: keys.get(meant[0], -1) for name, meant in known_as(result).items() if len(meant) == 1
        }
        order = sorted(range(len(self.ids)), key=self.ids.__getitem__)
        width = max(2, len(str(len(order))))
        self._aliases = {index: f"학생 {place:0{width}}" for place, index in enumerate(order, start=1)}
        self.anonymous = False
        """True to show `학생 07` in place of names, and to hide names in code."""

    def index(self, short_id: str) -> int | None:
        """Return the index of the student with this id; None if there is none."""
        return self._index.get(short_id)

    def shown(self, index: int) -> str:
        """Return the student as the desk names them."""
        if self.anonymous:
            return self._aliases[index]
        submission = self._submissions[index]
        person = submission.person
        named = "" if person is None else " ".join(part for part in (person.id, person.name) if part)
        return one_line(named or submission.student, 80)

    def in_order(self, indices: Sequence[int]) -> list[int]:
        """Return students in the order in which they are shown; the roster's order would give names away."""
        return sorted(indices, key=self._aliases.__getitem__) if self.anonymous else list(indices)

    def hidden(self, index: int, text: str) -> str:
        """Return text of this student's own with name and number hidden, if names are not released."""
        if not self.anonymous:
            return text
        submission = self._submissions[index]
        person = submission.person
        own = {submission.student, *re.split(r"[_\s]+", submission.student)}
        if person is not None:
            own |= {person.id, person.name, person.login, person.email, person.github}
        words = sorted((w for w in own if len(w) >= _SHORTEST_HIDDEN), key=len, reverse=True)
        return re.sub("|".join(map(re.escape, words)), _HIDDEN, text, flags=re.IGNORECASE) if words else text

    def line_for(self, index: int, exercise: str, score: str, text: str, rule: str) -> HandLine | None:
        """Return a line about this student; None if neither number nor name tells the student from others."""
        submission = self._submissions[index]
        person = submission.person
        number = "" if person is None else person.id
        name = "" if number else spreadsheet_cell(submission.student)
        if clean(name) != name:  # would not be the same name when it is read
            return None
        line = HandLine(number, name, exercise, score, text, rule)
        return line if self.student_of(line) == index else None

    def student_of(self, line: HandLine) -> int | None:
        """Return the student whom a line is about; None if it is somebody else, or nobody."""
        found = self._known.get(written_student(line.id, line.name).casefold(), -1)
        return None if found < 0 else found


def _short_id(seed: int, student: str) -> str:
    return hashlib.sha256(f"{seed}\0{student}".encode("utf-8", "replace")).hexdigest()[:12]
