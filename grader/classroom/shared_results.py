"""What many results of a class have in common is kept once: of ten thousand students most are told the same."""

from collections.abc import Hashable
from dataclasses import replace
from typing import TypeVar

from grader.course.feedback import Feedback, SubmissionResult

_SHARED = ("title", "checks", "message", "diagnosis", "because", "notes", "file", "error")
"""Parts of a feedback; its seconds make most of them differ as a whole."""
_Part = TypeVar("_Part", bound=Hashable)


class Alike:
    """Remembers parts of results, and puts them in the place of equal ones."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Hashable] = {}

    def __call__(self, result: SubmissionResult) -> SubmissionResult:
        """An equal result, of parts that others have too."""
        return replace(
            result,
            feedbacks=tuple(map(self._feedback, result.feedbacks)),
            extras=tuple(map(self._feedback, result.extras)),
        )

    def _feedback(self, feedback: Feedback) -> Feedback:
        shared = {name: self._one(getattr(feedback, name)) for name in _SHARED}
        feedback = replace(feedback, **shared)
        return feedback if feedback.seconds else self._one(feedback)  # what ran took a time of its own

    def _one(self, part: _Part) -> _Part:
        return self._known.setdefault(part, part)  # type: ignore[return-value]
