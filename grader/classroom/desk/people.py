"""Who is who at the desk: short ids for requests, names as they are shown, and names hidden until they are released.

Indices count the students who handed in something, in the order of the results, and after them those who did not.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

from grader.course.feedback import ClassResult
from grader.gradebook.hand_files import HandLine
from grader.gradebook.marking import known_as, student_key
from grader.gradebook.overrides import is_whole, written_student
from grader.report.kept_answers import Answers
from grader.report.plain_text import clean, one_line, spreadsheet_cell

_HIDDEN = "○○○"
_MOST_TOLD = 5
"""Maximum students named in one line."""
_SHORTEST_HIDDEN = 2
"""Minimum characters of a name or number that is hidden in texts."""


class People:
    """The students of a class."""

    def __init__(self, result: ClassResult, answers: Answers) -> None:
        self._submissions, self._answers = result.submissions, answers
        self._persons = [s.person for s in result.submissions] + [absent.person for absent in result.absent]
        self._times = Counter("" if person is None else person.name for person in self._persons)
        keys = {key: index for index, key in enumerate(_keys(result))}
        self.ids = [_short_id(result.seed, key) for key in keys]
        self._index = {one: index for index, one in enumerate(self.ids)}
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

    def handed_in(self, index: int) -> bool:
        """Return True for a student with a submission."""
        return index < len(self._submissions)

    def shown(self, index: int) -> str:
        """Return the student as the desk names them."""
        if self.anonymous:
            return self._aliases[index]
        person = self._persons[index]
        named = "" if person is None else " ".join(part for part in (person.id, person.name) if part)
        return one_line(named or self._label(index), 80)

    def called(self, index: int) -> str:
        """Return the student's name alone, if nobody else has it; else as the desk names them."""
        person = self._persons[index]
        name = "" if self.anonymous or person is None else one_line(person.name, 40)
        return name if name and self._times[person.name if person else ""] == 1 else self.shown(index)

    def listed(self, indices: Sequence[int]) -> str:
        """Return the first of these students by name, and the number of the others."""
        names = [self.called(index) for index in indices[:_MOST_TOLD]]
        more = len(indices) - len(names)
        return ", ".join(names) + (f" 외 {more}명" if more else "")

    def found(self, wanted: str) -> list[int]:
        """Return the students in whose shown name this text stands."""
        text = wanted.strip().casefold()
        order = self.in_order(range(len(self.ids)))
        return [index for index in order if text and text in self.shown(index).casefold()]

    def in_order(self, indices: Sequence[int]) -> list[int]:
        """Return students in the order in which they are shown; the roster's order would give names away."""
        return sorted(indices, key=self._aliases.__getitem__) if self.anonymous else list(indices)

    def hidden(self, index: int, text: str) -> str:
        """Return text of this student's own with name and number hidden, if names are not released."""
        if not self.anonymous:
            return text
        person, label = self._persons[index], self._label(index)
        own = {label, *re.split(r"[_\s]+", label)}
        if person is not None:
            own |= {person.id, person.name, person.login, person.email, person.github}
        words = sorted((w for w in own if len(w) >= _SHORTEST_HIDDEN), key=len, reverse=True)
        return re.sub("|".join(map(re.escape, words)), _HIDDEN, text, flags=re.IGNORECASE) if words else text

    def line_for(self, index: int, exercise: str, score: str, text: str, rule: str) -> HandLine | None:
        """Return a line about this student; None if neither number nor name tells the student from others."""
        person = self._persons[index]
        number = "" if person is None else person.id
        name = spreadsheet_cell(one_line(person.name, 80) if person and number else self._label(index))
        if not number and clean(name) != name:  # would not be the same name when it is read
            return None
        line = HandLine(number, name, exercise, score, text, rule, self._fingerprint(index, exercise))
        return line if self.student_of(line) == index else None

    def is_stale(self, line: HandLine) -> bool:
        """Return True if the line judged an answer in whose place the student has handed in another."""
        student = self.student_of(line)
        known = bool(line.answer) and student is not None and bool(self._answers)
        return known and line.answer != self._fingerprint(student or 0, line.exercise)

    def student_of(self, line: HandLine) -> int | None:
        """Return the student whom a line is about; None if it is somebody else, or nobody."""
        found = self._known.get(written_student(line.id, line.name).casefold(), -1)
        return None if found < 0 else found

    def _label(self, index: int) -> str:
        """Return the name in the results; empty for somebody who handed in nothing."""
        return self._submissions[index].student if self.handed_in(index) else ""

    def _fingerprint(self, index: int, exercise: str) -> str:
        submission = self._submissions[index] if self.handed_in(index) else None
        name = "" if is_whole(exercise) else exercise
        return self._answers.fingerprint(submission, name) if self._answers else ""


def _keys(result: ClassResult) -> list[str]:
    """Return the keys of `known_as`, in the order of the indices."""
    return [
        *map(student_key, result.submissions),
        *(f"absent {absent.person.id}" for absent in result.absent),
    ]


def _short_id(seed: int, student: str) -> str:
    return hashlib.sha256(f"{seed}\0{student}".encode("utf-8", "replace")).hexdigest()[:12]
