"""Remember programs that were right, so that an equal program of another student is not run again.

Programs are compared by the form of the part that an exercise needs (`grader.submission.exercise_parts`). When a form
passes for the first time, that is only noted. When it comes for the second time, the part is run alone, without the
rest of its submission, and that result is remembered for all later ones. So nothing else in one student's submission
can influence what others get. Only right programs are remembered, because feedback on a wrong one quotes the learner's
own lines.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from grader.course.feedback import Feedback, SubmissionResult
from grader.grading.grading_run import GradingRun
from grader.submission.exercise_parts import Part, parts
from grader.submission.submission import Submission

_MOST_FORMS = 20_000
"""Maximum number of forms that a process remembers; most occur once, and each takes 200 bytes."""
_MOST_CHARS = 150_000
"""Maximum characters of a submission's programs to look through: 100,000 characters of hostile text take a second. The
programs of our four lessons together have about as many."""
Key = tuple[str, int, str, bytes]
"""(exercise, seed, device, fingerprint of the form)."""
_Value = TypeVar("_Value")
RunAlone = Callable[[str, Part], Feedback | None]
"""Function that runs one exercise's part alone; returns its feedback if it is right, else None."""


@dataclass(frozen=True)
class Recalled:
    """What is remembered about the exercises of one submission."""

    known: Mapping[str, Feedback]
    """Feedback on the exercises that need not be run, by exercise name."""
    unknown: Mapping[str, Key]
    """Keys of the exercises that must be run and could be remembered afterwards, by exercise name."""


class RightPrograms:
    """The right programs that one process remembers."""

    def __init__(self) -> None:
        self._passed_once: dict[Key, None] = {}  # an ordered set: the oldest is dropped first
        self._alone: dict[Key, Feedback | None] = {}
        """Feedback on the forms that were run alone; None for those that were not right."""

    def recall(self, run: GradingRun, submission: Submission, alone: RunAlone) -> Recalled:
        """Return what is known about a submission's exercises.

        Args:
            run: settings of the grading.
            submission: the submission.
            alone: called for each form that has passed once before, to run it alone.
        """
        known: dict[str, Feedback] = {}
        unknown: dict[str, Key] = {}
        for name, file, part in _parts_of(run, submission):
            form = hashlib.sha256(part.form.encode("utf-8", "surrogatepass")).digest()
            key = name, run.seed, run.device, form
            if key in self._passed_once:
                del self._passed_once[key]
                _store(self._alone, key, alone(name, part))
            feedback = self._alone.get(key)
            if feedback is not None:
                known[name] = replace(feedback, file=file)
            elif key not in self._alone:
                unknown[name] = key
        return Recalled(known, unknown)

    def remember(self, recalled: Recalled, result: SubmissionResult) -> None:
        """Remember which of the exercises that were run passed.

        Args:
            recalled: the result of `recall` for this submission.
            result: the submission's result.
        """
        for feedback in result.all_feedback:
            if feedback.exercise in recalled.unknown and is_right(feedback):
                _store(self._passed_once, recalled.unknown[feedback.exercise], None)


def is_right(feedback: Feedback) -> bool:
    """True if the exercise passed and the feedback has no notes, which could quote the learner's own lines."""
    return feedback.status == "passed" and not feedback.notes


def _store(memory: dict[Key, _Value], key: Key, value: _Value) -> None:
    """Store a value; drop the oldest one if the memory is full."""
    if len(memory) >= _MOST_FORMS:
        del memory[next(iter(memory))]  # the oldest
    memory[key] = value


def _parts_of(run: GradingRun, submission: Submission) -> Iterator[tuple[str, str, Part]]:
    """Yield (exercise, name of the file, part) for each exercise that has a part.

    Yields nothing if one of the files to be run is not plain (see `exercise_parts.parts`), because all files run in one
    process and could influence each other, and nothing if they are too long.
    """
    names: dict[str, list[str]] = {}
    for exercise in run.exercises:
        source = submission.source_for(exercise.name)
        if source is not None and source.complaint(exercise.name) is None:
            names.setdefault(source.name, []).append(exercise.name)
    sources = [source for source in submission.files if source.name in names]
    if sum(len(source.text) for source in sources) > _MOST_CHARS:
        return
    parts_of_files = [(source.name, parts(source.text, names[source.name])) for source in sources]
    if any(found is None for _, found in parts_of_files):
        return
    for file, found in parts_of_files:
        for name, part in (found or {}).items():
            yield name, file, part
