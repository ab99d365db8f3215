"""Give a learner the next hint on an exercise.

The *ladder* of an exercise is all hints that there are on it now, each of them a *step*. It depends on the *road*, the
hints that the last check kept with its event (`ExerciseHistory.road`):

the check named mistakes    about each of them, at most `MOST_MISTAKES`: what to think of, where to look, what to write,
                            as far as it is known; then the answer
there is no such check      the exercise's clues; then the answer

A bonus task has no clues and no answer. Steps that were seen stay above the next one, in the order in which they were
shown.
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
    """One hint of a ladder."""

    name: str
    """Korean name of what it tells; empty for a clue."""
    text: str
    """What the learner reads, as Markdown."""
    number: int
    """As it is recorded: from 1, among the clues and the answer, or among the steps about the mistake."""
    mistake: str = ""
    """Id of the mistake that it is about; empty for a clue and the answer."""

    @property
    def tells_lines(self) -> bool:
        """True if it is the step that tells what to write."""
        return bool(self.mistake) and self.number == len(STEP_NAMES)


@dataclass(frozen=True)
class Hints:
    """The hints on an exercise as shown now."""

    title: str
    """Title of the exercise."""
    seen: tuple[tuple[str, str], ...]
    """Name and text of each hint seen so far, in the order in which they were shown; a new one is the last."""
    total: int
    """Number of hints that there are now, seen or not."""
    exercise: str
    """Name of the exercise."""
    confirm: str = ""
    """Korean sentences instead of a new hint: only the answer is left, and it is shown if asked for once more."""
    ask: str = ""
    """Ends the last of them: how to ask for the answer."""
    next_line: str = ""
    """Korean line on how to get the next hint; empty if all were seen, or if `confirm` asks about the answer."""

    @property
    def html(self) -> str:
        """The hints as an HTML card."""
        return hint_html(
            self.title,
            self.seen,
            self.total,
            exercise=self.exercise,
            confirm=self.confirm,
            ask=self.ask,
            again=self.next_line,
        )

    @property
    def text(self) -> str:
        """The hints as plain text."""
        hints = hint_text(self.title, self.seen, self.total)
        below = (f"{self.confirm} {self.ask}" if self.confirm else self.next_line).replace("`", "")
        return "\n".join(filter(None, (hints, below)))


def next_hints(
    exercise: Exercise, *, answer: bool, how_to_ask: str, how_to_see_the_answer: str
) -> Hints | None:
    """Return the hints with the next one, which is recorded as seen; if all were seen, these alone.

    None if there are no hints now, as on most bonus tasks.

    Args:
        exercise: the exercise.
        answer: True if the learner has asked for the answer; otherwise the answer waits to be confirmed.
        how_to_ask: Korean sentence on how to ask for a hint.
        how_to_see_the_answer: Korean sentence on how to ask for the answer.
    """
    learner = Progress.load()
    seen, unseen = _seen_and_unseen(exercise, learner.history.exercise(exercise.name))
    total = len(seen) + len(unseen)
    if not total:
        return None
    confirm = ask = next_line = ""
    if unseen and unseen[0].name == _ANSWER and not answer:
        confirm, ask = _ONLY_THE_ANSWER, how_to_see_the_answer
    elif unseen:
        new = unseen.pop(0)
        learner.record_hint(
            exercise.name, new.number, new.mistake, answer=new.name == _ANSWER, lines=new.tells_lines
        )
        seen.append(new)
        next_line = f"다음 힌트 ({len(seen) + 1}/{total}): {how_to_ask}" if unseen else ""
    shown = tuple((step.name, step.text) for step in seen)
    return Hints(exercise.title, shown, total, exercise.name, confirm, ask, next_line)


def hints_left(exercise: Exercise, learner: Progress) -> int:
    """Return the number of hints that there are on an exercise now and that the learner has not seen."""
    _, unseen = _seen_and_unseen(exercise, learner.history.exercise(exercise.name))
    return len(unseen)


def total_hints(exercise: Exercise, learner: Progress) -> int:
    """Return the number of hints that there are on an exercise now, seen or not."""
    return sum(1 for _ in _ladder(exercise, learner.history.exercise(exercise.name)))


def _seen_and_unseen(exercise: Exercise, history: ExerciseHistory) -> tuple[list[_Step], list[_Step]]:
    """Return the ladder's steps that were seen, in the order in which they were shown, and the others in its order."""
    unseen = {(step.mistake, step.number): step for step in _ladder(exercise, history)}
    seen = [unseen.pop(hint) for hint in history.hints_seen if hint in unseen]
    return seen, [*unseen.values()]


def _ladder(exercise: Exercise, history: ExerciseHistory) -> Iterator[_Step]:
    """Yield the steps that there are on an exercise now, in the order in which they are to be shown."""
    for rank, (mistake, texts) in enumerate(history.road, start=1):
        which = f" ({rank}번 실수)" if len(history.last_mistakes) > 1 else ""  # as the card numbers them
        for number, (name, text) in enumerate(zip(STEP_NAMES, texts, strict=True), start=1):
            if text:
                yield _Step(f"{name}{which}", text, number, mistake)
    for number, text in enumerate(exercise.hints, start=1):
        if number > len(exercise.clues):
            yield _Step(_ANSWER, text, number)
        elif not history.road:
            yield _Step("", text, number)
