"""What follows from the files that people edit beside a report: computed once, and anew when one of them changes.

Every view needs the marks and the lines written by hand. For a class of 600, computing them for each key press would
make the page answer noticeably late.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from grader.base.errors import HanstepError
from grader.classroom.desk.authors import Authors
from grader.classroom.desk.people import People
from grader.classroom.desk.standing import Standing
from grader.classroom.desk.written import Written
from grader.course.feedback import ClassResult
from grader.gradebook.hand_files import HAND_FILES, OVERRIDES, Sheet
from grader.gradebook.marking import Rules
from grader.report.kept_answers import Answers

_EDITED = (".csv", ".xlsx", ".toml")
"""Endings of the files from which marks follow."""
_SECONDS = 60
"""After so long, deadlines may have passed though no file has changed."""


@dataclass(frozen=True)
class Moment:
    """The marks and the lines written by hand, as the files say now."""

    standing: Standing | None
    """None if the files cannot be used."""
    problem: str
    """Why they cannot be used, in Korean; empty if they can."""
    written: Written


class Moments:
    """The current moment of one graded class."""

    def __init__(
        self,
        out: Path,
        names: Sequence[str],
        read_rules: Callable[[], Rules],
        result: ClassResult,
        people: People,
        answers: Answers,
        authors: Authors,
    ) -> None:
        """Take a class; no file is read yet.

        Args:
            out: the report's folder.
            names: names of all exercises in the course.
            read_rules: reads policy and the files given by hand anew.
            result: the graded class.
            people: the same class, as the desk knows it.
            answers: its code.
            authors: who wrote the lines.
        """
        self._out, self._names, self._read_rules = out, names, read_rules
        self._result, self._people, self._answers, self._authors = result, people, answers, authors
        self._stamp: object = None
        self._moment: Moment | None = None

    def now(self) -> Moment:
        """Return the current moment, computed anew if a file has changed.

        Raises:
            OSError: the folder cannot be read.
        """
        stamp = frozenset(_stamps(self._out)), int(time.time() // _SECONDS)
        if self._moment is None or stamp != self._stamp:
            self._moment, self._stamp = self._computed(), stamp
        return self._moment

    def _computed(self) -> Moment:
        sheets: Mapping[str, Sheet] = {}
        standing, problem = None, ""
        try:
            sheets = {name: file.read(self._out) for name, file in HAND_FILES.items()}
            rules = replace(self._read_rules(), answers=self._answers)
            lines = sheets[OVERRIDES.name].lines
            standing = Standing(self._result, self._people, rules, self._names, lines)
        except HanstepError as error:
            problem = str(error)
        return Moment(standing, problem, Written(sheets, self._result, self._people, self._authors))


def _stamps(out: Path) -> Iterator[tuple[object, ...]]:
    """Yield what tells each file from an earlier version of itself."""
    with os.scandir(out) as entries:
        for entry in entries:
            if entry.name.endswith(_EDITED):
                with suppress(FileNotFoundError):  # replaced meanwhile: the next stamp differs
                    status = entry.stat()
                    yield entry.name, status.st_mtime_ns, status.st_size, status.st_ino
