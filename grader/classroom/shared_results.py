"""Share equal parts of results in memory: most of ten thousand students get the same feedback."""

from collections.abc import Hashable
from dataclasses import replace
from typing import TypeVar

from grader.course.feedback import Feedback, SubmissionResult

_SHARED = ("title", "checks", "message", "diagnosis", "because", "notes", "file", "error")
"""Attributes of a feedback that are shared. Whole feedbacks are rarely equal, because their seconds differ."""
_Part = TypeVar("_Part", bound=Hashable)


class SharedParts:
    """Remember parts of results, and replace equal parts by the remembered object."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Hashable] = {}

    def __call__(self, result: SubmissionResult) -> SubmissionResult:
        """Return an equal result made of shared parts."""
        return replace(
            result,
            feedbacks=tuple(map(self._feedback, result.feedbacks)),
            extras=tuple(map(self._feedback, result.extras)),
        )

    def _feedback(self, feedback: Feedback) -> Feedback:
        """Return an equal feedback made of shared parts."""
        shared = {name: self._one(getattr(feedback, name)) for name in _SHARED}
        feedback = replace(feedback, **shared)
        # With 0 seconds (not run), share it as a whole
        return feedback if feedback.seconds else self._one(feedback)

    def _one(self, part: _Part) -> _Part:
        """Return the remembered object that equals `part`; remember `part` if there is none."""
        return self._known.setdefault(part, part)  # type: ignore[return-value]
