"""What has been written by hand about a class: equal lines together, and what is in doubt about them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from grader.classroom.desk import rubric
from grader.classroom.desk.authors import Authors
from grader.classroom.desk.behaviour import Group
from grader.classroom.desk.people import People
from grader.classroom.desk.rubric import Measured
from grader.course.feedback import ClassResult
from grader.gradebook.hand_files import HandLine, Sheet
from grader.gradebook.overrides import is_whole

WHOLE = "전체"
"""What the desk writes in the column of exercises for the whole submission."""
_REUSED = 30
"""Maximum earlier texts offered again."""


class Written:
    """The lines of `overrides.csv` and `comments.csv` beside a graded class."""

    def __init__(
        self, sheets: Mapping[str, Sheet], result: ClassResult, people: People, authors: Authors
    ) -> None:
        """Take the lines.

        Args:
            sheets: what the files say, by name; empty if one cannot be read, which is told as a problem.
            result: the graded class.
            people: the same class, as the desk knows it.
            authors: who wrote the lines.
        """
        self._sheets, self._result, self._people, self._authors = sheets, result, people, authors

    def students(self, name: str, *, stale: bool = False) -> set[int]:
        """Return the students about whose answer something is written; with `stale`, about an earlier answer."""
        lines = (line for line in (self.stale() if stale else self.lines()) if line.exercise == name)
        return {student for line in lines if (student := self._people.student_of(line)) is not None}

    def misfits_among(self, lines: Sequence[HandLine]) -> list[HandLine]:
        """Return those of the lines whose rule no longer means the student."""
        return rubric.misfits(lines, self._result, self._people)

    def stale(self) -> list[HandLine]:
        """Return the lines about answers in whose place others have been handed in."""
        return [line for line in self.lines() if self._people.is_stale(line)]

    def lines(self) -> list[HandLine]:
        """Return all lines."""
        return [line for sheet in self._sheets.values() for line in sheet.lines]

    def doubtful(self) -> tuple[Counter[str], Counter[str]]:
        """Return how many lines fit no more, and how many judged an earlier answer, by exercise."""
        misfits = Counter(line.exercise for line in self.misfits_among(self.lines()))
        return misfits, Counter(line.exercise for line in self.stale())

    def again_as_a_whole(self) -> list[dict[str, str]]:
        """Return who has handed in anew since something was written about the whole submission."""
        people = self._people
        found = (people.student_of(line) for line in self.stale() if is_whole(line.exercise))
        return [{"id": people.ids[i], "name": people.shown(i)} for i in dict.fromkeys(found) if i is not None]

    def about(
        self, name: str, measured: Measured | None, groups: Sequence[Group] = ()
    ) -> list[dict[str, Any]]:
        """Return what has been written about an exercise: equal lines together, with those that are in doubt."""
        told = []
        for file, sheet in self._sheets.items():
            found: dict[tuple[str, str, str], list[HandLine]] = {}
            for line in sheet.lines:
                if line.exercise == name or (name == WHOLE and is_whole(line.exercise)):
                    found.setdefault((line.score, line.text, line.rule), []).append(line)
            told += [self._entry(name, sheet, file, lines, measured) for lines in found.values()]
        keys = {self._people.ids[member]: group.key for group in groups for member in group.members}
        for entry in told:
            entry["groups"] = sorted({keys[one] for one in entry["ids"] if one in keys})
        return told

    def _entry(
        self, name: str, sheet: Sheet, file: str, lines: Sequence[HandLine], measured: Measured | None
    ) -> dict[str, Any]:
        """Return lines that say the same: whom they are about, and what is in doubt about them."""
        people, first = self._people, lines[0]
        about = [one for line in lines if (one := people.student_of(line)) is not None]
        again = [
            one for line in lines if people.is_stale(line) and (one := people.student_of(line)) is not None
        ]
        missing: list[int] = []
        if measured is not None:
            meant = rubric.meant_by(first.rule, self._result.submissions, name)
            missing = rubric.yet_to_get(sheet, people, meant, first, measured)
        return {
            "file": file,
            "exercise": first.exercise,
            "score": first.score,
            "text": first.text,
            "rule": first.rule,
            "by": self._authors.of_all(lines),
            "lines": len(lines),
            "students": people.listed(about),
            "ids": [people.ids[student] for student in about],
            "again": [{"id": people.ids[one], "name": people.called(one)} for one in again],
            "misfits": len(self.misfits_among(lines)),
            "missing": len(missing),
            "missing_names": people.listed(missing),
        }

    def earlier_texts(self, name: str) -> list[str]:
        """Return reasons and comments written before, those about this exercise first."""
        ordered = sorted(self.lines(), key=lambda line: line.exercise != name)
        return list(islice(dict.fromkeys(line.text for line in ordered), _REUSED))
