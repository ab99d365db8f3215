"""Give a learner's next hint: a step of the ladder that the state of the exercise has.

the last check named mistakes    about each: what to think of, where to look, what to write; then the answer
it named none, or passed         the exercise's own hints; then the answer

A bonus task has no answer, and no hints of its own. The number of steps depends on the last check alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from grader.course.course import Exercise
from grader.learner.history import ExerciseHistory
from grader.learner.progress import Progress
from grader.report.hint_ladder import STEP_NAMES
from grader.report.html import hint_html
from grader.report.text import hint_text

_ANSWER = "정답"
_ONLY_THE_ANSWER = "정답을 볼까요? 남은 힌트는 정답 전체뿐이에요. 한 번 더 고쳐 보고, 그래도 막히면"


@dataclass(frozen=True)
class _Step:
    """One hint of those that an exercise has now."""

    name: str
    """Korean name of what it tells; empty for one of the exercise's own."""
    text: str
    number: int
    """As it is recorded: from 1, among the exercise's own or among those about the mistake."""
    mistake: str = ""
    """Id of the mistake that it is about; empty for one of the exercise's own."""


@dataclass(frozen=True)
class Hints:
    """The hints of an exercise as shown now."""

    title: str
    """Title of the exercise."""
    seen: tuple[tuple[str, str], ...]
    """Name and text of the hints shown so far, the newest last."""
    total: int
    exercise: str
    confirm: str = ""
    """Korean sentences instead of a new hint: only the answer is left, and it is shown if asked for once more."""
    again: str = ""
    """Korean line on how to get the next hint; empty if all were shown."""

    @property
    def html(self) -> str:
        """The hints as an HTML card."""
        return hint_html(
            self.title,
            self.seen,
            self.total,
            exercise=self.exercise,
            confirm=self.confirm,
            again=self.again,
        )

    @property
    def text(self) -> str:
        """The hints as plain text."""
        told = hint_text(self.title, self.seen, self.total)
        below = (self.confirm or self.again).replace("`", "")
        return "\n".join(filter(None, (told, below)))


def next_hints(exercise: Exercise, *, answer: bool, again: str, ask: str) -> Hints | None:
    """Take the exercise's next hint and record that it was shown; None if it has no hints now, as most bonus tasks.

    Args:
        exercise: the exercise.
        answer: True if the learner has asked for the answer; otherwise the answer waits to be confirmed.
        again: Korean sentence on how to ask for a hint.
        ask: Korean sentence on how to ask for the answer.
    """
    learner = Progress.load()
    steps = list(_steps(exercise, learner.history.exercise(exercise.name)))
    if not steps:
        return None
    total, seen = len(steps), len(steps) - hints_left(exercise, learner)
    if seen < total and steps[seen].name == _ANSWER and not answer:
        told = tuple((step.name, step.text) for step in steps[:seen])
        return Hints(exercise.title, told, total, exercise.name, confirm=f"{_ONLY_THE_ANSWER} {ask}")
    if seen < total:
        learner.record_hint(exercise.name, steps[seen].number, steps[seen].mistake)
        seen += 1
    told = tuple((step.name, step.text) for step in steps[:seen])
    more = f"다음 힌트 ({seen + 1}/{total}): {again}" if seen < total else ""
    return Hints(exercise.title, told, total, exercise.name, again=more)


def hints_left(exercise: Exercise, learner: Progress) -> int:
    """Return the number of hints that an exercise has now and the learner has not seen."""
    done = learner.history.exercise(exercise.name)
    steps = list(_steps(exercise, done))
    unseen = (n for n, step in enumerate(steps) if step.number > _shown(step, done))
    return len(steps) - next(unseen, len(steps))


def total_hints(exercise: Exercise, learner: Progress) -> int:
    """Return the number of hints that an exercise has now, seen or not."""
    return len(list(_steps(exercise, learner.history.exercise(exercise.name))))


def _shown(step: _Step, done: ExerciseHistory) -> int:
    """Return the highest number shown of the hints to which the step belongs."""
    return done.mistake_hints.get(step.mistake, 0) if step.mistake else done.hints


def _steps(exercise: Exercise, done: ExerciseHistory) -> Iterator[_Step]:
    """Yield the hints that the exercise has now, in order."""
    own = [_Step("", text, number) for number, text in enumerate(exercise.hints, start=1)]
    for rank, (mistake, steps) in enumerate(done.road, start=1):
        which = f" (실수 {rank}/{len(done.last_mistakes)})" if len(done.last_mistakes) > 1 else ""
        for number, (name, text) in enumerate(zip(STEP_NAMES, steps, strict=True), start=1):
            if text:
                yield _Step(f"{name}{which}", text, number, mistake)
    if own and len(own) > len(exercise.clues):
        own[-1] = _Step(_ANSWER, own[-1].text, own[-1].number)
    yield from own[len(exercise.clues) :] if done.road else own
