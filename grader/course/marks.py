"""What a gradebook adds to what was measured: marks, comments, and what an earlier grading had measured."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ExerciseMark:
    """One exercise's part of a mark."""

    exercise: str
    score: float
    max_score: float
    dropped: bool = False
    """True if the policy leaves this exercise out of the total."""
    reason: str = ""
    """Why this mark was given by hand; empty if it was computed."""


@dataclass(frozen=True)
class Comment:
    """What an instructor says to one student, apart from points."""

    exercise: str
    """Empty if it is about the whole submission."""
    text: str


@dataclass(frozen=True)
class Mark:
    """The mark that goes to the LMS: the score after the policy and after marks given by hand."""

    score: float | None
    """None for a student who is excused (면제): no mark is written, and none is counted."""
    max_score: float
    exercises: tuple[ExerciseMark, ...] = ()
    reasons: tuple[str, ...] = ()
    """Korean lines, in order, on why the mark differs from the measured score."""
    late_percent: float = 0.0
    """Percent that were subtracted for lateness."""


@dataclass(frozen=True)
class EarlierScore:
    """What an earlier grading measured in one exercise."""

    exercise: str
    score: float | None
    """Points of the grading before; None if the file could not be read."""
    best: float = 0.0
    """Most points of all answers that were handed in before."""


@dataclass(frozen=True)
class Regrade:
    """What is known of the gradings before the last one that graded a student anew."""

    handed_in_again: bool
    """True if the files differ from those of the grading before."""
    before: tuple[EarlierScore, ...]
