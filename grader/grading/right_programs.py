"""Remembers programs that were right: whoever hands in the same one is told the same, and it is not run again.

What is remembered was run alone, as nothing but the text that its exercise leans on: what else stands in a submission
has no say in what others get for a program of the same form. That is done when a form comes for the second time. Only
right ones are remembered: what is wrong with a program is told in the learner's own lines.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from grader.course.feedback import Feedback, SubmissionResult
from grader.grading.grading_run import GradingRun
from grader.submission.exercise_parts import Part, parts
from grader.submission.submission import Submission

_MOST = 20_000
"""Forms that a process remembers; most come once, and take 200 bytes."""
_MOST_CHARS = 150_000
"""Of a submission's programs: 100,000 hostile ones take a second to look through. Our four lessons have as many."""
Key = tuple[str, int, str, bytes]
"""Exercise, seed, device, and the form's fingerprint."""
_Told = TypeVar("_Told")
Alone = Callable[[str, Part], Feedback | None]
"""Runs one exercise's part of a program; what is said of it, where it is right."""


@dataclass(frozen=True)
class Recalled:
    """What a process remembers of a submission."""

    known: Mapping[str, Feedback]
    """Of the exercises that need not be run."""
    unknown: Mapping[str, Key]
    """Of the others those that could be remembered."""


class RightPrograms:
    """The memory of one process."""

    def __init__(self) -> None:
        self._passed_once: dict[Key, None] = {}  # a set that knows which came first
        self._alone: dict[Key, Feedback | None] = {}
        """What came of those that were run alone; None where they were not right."""

    def recall(self, run: GradingRun, submission: Submission, alone: Alone) -> Recalled:
        """What is known of a submission's exercises; what passed once before is run by `alone` for it."""
        known: dict[str, Feedback] = {}
        unknown: dict[str, Key] = {}
        for name, file, part in _parts_of(run, submission):
            form = hashlib.sha256(part.form.encode("utf-8", "surrogatepass")).digest()
            key = name, run.seed, run.device, form
            if key in self._passed_once:
                del self._passed_once[key]
                _keep(self._alone, key, alone(name, part))
            feedback = self._alone.get(key)
            if feedback is not None:
                known[name] = replace(feedback, file=file)
            elif key not in self._alone:
                unknown[name] = key
        return Recalled(known, unknown)

    def notice(self, recalled: Recalled, result: SubmissionResult) -> None:
        """Which of the exercises that were run passed."""
        for feedback in result.told:
            if feedback.exercise in recalled.unknown and is_right(feedback):
                _keep(self._passed_once, recalled.unknown[feedback.exercise], None)


def is_right(feedback: Feedback) -> bool:
    """Whether there is no more to say than that: nothing of the learner's own lines."""
    return feedback.status == "passed" and not feedback.notes


def _keep(memory: dict[Key, _Told], key: Key, value: _Told) -> None:
    if len(memory) >= _MOST:
        del memory[next(iter(memory))]  # the oldest
    memory[key] = value


def _parts_of(run: GradingRun, submission: Submission) -> Iterator[tuple[str, str, Part]]:
    """Exercise, name of the file, and part, of all that have one.

    None at all, if any of the files that are run is not plain: they run in one process.
    """
    names: dict[str, list[str]] = {}
    for exercise in run.exercises:
        source = submission.source_for(exercise.name)
        if source is not None and source.complaint(exercise.name) is None:
            names.setdefault(source.name, []).append(exercise.name)
    sources = [source for source in submission.files if source.name in names]
    if sum(len(source.text) for source in sources) > _MOST_CHARS:
        return
    found = [(source.name, parts(source.text, names[source.name])) for source in sources]
    if any(known is None for _, known in found):
        return
    for file, known in found:
        for name, part in (known or {}).items():
            yield name, file, part
