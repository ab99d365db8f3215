"""Tell judgements of the answers that are there now from judgements of answers that were handed in before.

A judgement belongs to the answer that was judged. After a resubmission it stands aside, and gives neither points nor
words, until a person keeps or removes it at the desk. Lines without a fingerprint, which people write by hand, stand
for any answer.
"""

from collections.abc import Collection, Mapping
from typing import Protocol, TypeVar

from grader.course.feedback import SubmissionResult
from grader.report.kept_answers import Answers


class Judgement(Protocol):
    """A line of `overrides.csv` or `comments.csv`."""

    @property
    def student(self) -> str:
        """The student, as written."""

    @property
    def exercise(self) -> str:
        """Name of the exercise; empty for the whole submission."""

    @property
    def answer(self) -> str:
        """Fingerprint of the judged answer; empty for any."""


_J = TypeVar("_J", bound=Judgement)


def still_meant(
    lines: Collection[_J],
    meant: Mapping[str, Collection[str]],
    there: Mapping[str, SubmissionResult],
    answers: Answers | None,
) -> tuple[_J, ...]:
    """Return the judgements of the answers that are there now.

    Args:
        lines: judgements as read.
        meant: keys of the students meant by each number or name, in lower case.
        there: what was handed in, by key of the student.
        answers: the kept code; None, or without any code: every line stands.
    """
    if not answers:
        return tuple(lines)

    def stands(line: _J) -> bool:
        keys = [*meant.get(line.student.casefold(), ())]
        if not line.answer or len(keys) != 1:  # who cannot be told is reported with the line
            return True
        return line.answer == answers.fingerprint(there.get(keys[0]), line.exercise)

    return tuple(line for line in lines if stands(line))
