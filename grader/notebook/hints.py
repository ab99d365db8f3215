"""Give a learner's next hint: about the mistake that the last check named, or else one of the exercise's own.

the last check named mistakes    for each: symptom, place, repair; then the answer (a bonus task tells none)
it named none, or passed         the exercise's hints; the last one is the answer
"""

from collections.abc import Iterator
from dataclasses import dataclass

from grader.course.course import Exercise
from grader.learner.history import ExerciseHistory
from grader.learner.progress import Progress
from grader.report.hold_back import HINT_NAMES
from grader.report.html import hint_html
from grader.report.text import hint_text

_ANSWER = "정답"


@dataclass(frozen=True)
class _Step:
    """One hint of those that an exercise has now."""

    name: str
    """Korean name of what it tells; empty for one of the exercise's own."""
    text: str
    number: int
    """As it is recorded: from 1, among the exercise's own or among those about the mistake."""
    mistake: str = ""
    """Id of the mistake that it is about."""


@dataclass(frozen=True)
class Hints:
    """The hints of an exercise as shown now."""

    title: str
    """Title of the exercise."""
    seen: tuple[tuple[str, str], ...]
    """Name and text of the hints shown so far, the newest last."""
    total: int

    @property
    def html(self) -> str:
        """The hints as an HTML card."""
        return hint_html(self.title, self.seen, self.total)

    @property
    def text(self) -> str:
        """The hints as plain text."""
        return hint_text(self.title, self.seen, self.total)


def next_hints(exercise: Exercise) -> Hints | None:
    """Take the exercise's next hint and record that it was shown; None if it has no hints now, as most bonus tasks."""
    learner = Progress.load()
    steps = list(_steps(exercise, learner.history.exercise(exercise.name)))
    if not steps:
        return None
    seen = len(steps) - hints_left(exercise, learner)
    now = steps[: min(seen + 1, len(steps))]
    learner.record_hint(exercise.name, now[-1].number, now[-1].mistake)
    return Hints(exercise.title, tuple((step.name, step.text) for step in now), len(steps))


def hints_left(exercise: Exercise, learner: Progress) -> int:
    """Return the number of hints that an exercise has now and the learner has not seen."""
    done = learner.history.exercise(exercise.name)
    steps = list(_steps(exercise, done))
    unseen = (n for n, step in enumerate(steps) if step.number > _shown(step, done))
    return len(steps) - next(unseen, len(steps))


def _shown(step: _Step, done: ExerciseHistory) -> int:
    """Return the highest number shown of the hints to which the step belongs."""
    return done.mistake_hints.get(step.mistake, 0) if step.mistake else done.hints


def _steps(exercise: Exercise, done: ExerciseHistory) -> Iterator[_Step]:
    """Yield the hints that the exercise has now, in order."""
    own = [_Step("", text, number) for number, text in enumerate(exercise.hints, start=1)]
    for place, (mistake, hints) in enumerate(done.road, start=1):
        which = f" (실수 {place}/{len(done.road)})" if len(done.road) > 1 else ""
        for number, (name, text) in enumerate(zip(HINT_NAMES, hints, strict=True), start=1):
            yield _Step(f"{name}{which}", text, number, mistake)
    if own and len(own) > len(exercise.clues):
        own[-1] = _Step(_ANSWER, own[-1].text, own[-1].number)
    yield from own[len(exercise.clues) :] if done.road else own
