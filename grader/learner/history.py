"""What the events add up to: for each exercise, prediction and mistake; days and minutes. Pure computing.

A reset puts an exercise back to its start, and what was learned stays: `passed` is since the reset, the rest is ever.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from grader.learner.event import Event

AWAY_SECONDS = 20 * 60
"""Two events farther apart than this: in between the learner did something else."""
_WORK = ("check", "hint", "prediction", "clinic")
"""What a learner does oneself."""


@dataclass
class ExerciseHistory:
    """One exercise."""

    passed: bool = False
    """Since the last reset."""
    checks: int = 0
    """Since the last reset."""
    hints: int = 0
    """The highest number that was shown since the last reset."""
    first_pass: float | None = None
    """When, in seconds since 1970."""
    tries: int = 0
    """Checks until the first pass; it counts."""
    hints_used: int = 0
    """Before the first pass."""
    minutes: float = 0.0
    """From the first check to the first pass, without the time away."""
    orders: set[str] = field(default_factory=set)
    """In which it has passed: see `grader.learner.call_orders`."""
    last_mistakes: tuple[str, ...] = ()
    """Ids of those that the last check named, as in results.json; none after a pass or a reset."""

    @property
    def ever_passed(self) -> bool:
        """Whether it has passed once."""
        return self.first_pass is not None


@dataclass
class MistakeHistory:
    """One mistake in one exercise; `id` is as in results.json."""

    exercise: str
    id: str
    times: int = 0
    mastered: bool = False
    """Whether the exercise passed after the mistake was last made."""
    once_mastered: bool = False
    """Whether it ever did: what was won by that stays when the mistake comes back."""


@dataclass
class History:
    """Everything that the events say."""

    exercises: dict[str, ExerciseHistory] = field(default_factory=dict)
    mistakes: dict[tuple[str, str], MistakeHistory] = field(default_factory=dict)
    """In the order in which they were first made."""
    letters: dict[str, str] = field(default_factory=dict)
    """The letter that was chosen last, by prediction."""
    verdicts: dict[str, bool] = field(default_factory=dict)
    """Whether the letter was right that stood when the answer was first told, in that order."""
    achievements: dict[str, float] = field(default_factory=dict)
    """When each was won."""
    mended: set[str] = field(default_factory=set)
    """`exercise/mistake`: those that were found in the clinic without asking for the answer."""
    real_bugs: set[str] = field(default_factory=set)
    """Of these the ids of real bugs."""
    days: set[date] = field(default_factory=set)
    seconds: float = 0.0

    def exercise(self, name: str) -> ExerciseHistory:
        """Of that name; an empty one where nothing has happened."""
        return self.exercises.get(name, ExerciseHistory())

    @property
    def longest_streak(self) -> int:
        """The most days one after another."""
        ends = (day for day in self.days if day + timedelta(days=1) not in self.days)
        return max(map(self._streak_to, ends), default=0)

    def streak(self, today: date) -> int:
        """Days one after another up to today; today may still come."""
        return self._streak_to(today) or self._streak_to(today - timedelta(days=1))

    def _streak_to(self, day: date) -> int:
        length = 0
        while day - timedelta(days=length) in self.days:
            length += 1
        return length


def history(events: Iterable[Event]) -> History:
    """Add up events that are in order; kinds that are not known count for nothing."""
    return [History(), *growing(events)][-1]


def growing(events: Iterable[Event]) -> Iterator[History]:
    """The history after each event: one object that grows."""
    found = History()
    begun: dict[str, float] = {}
    before: float | None = None
    for event in events:
        if event.kind in _WORK:
            if before is not None and event.at - before <= AWAY_SECONDS:
                found.seconds += event.at - before
            before = event.at
            found.days.add(datetime.fromtimestamp(event.at).date())
        match event.kind:
            case "check":
                _checked(found, event, begun)
            case "hint":
                entry = found.exercises.setdefault(event.what, ExerciseHistory())
                number = event.detail.get("number")
                entry.hints = max(entry.hints, number if isinstance(number, int) else 0)
                entry.hints_used += not entry.ever_passed
            case "reset":
                entry = found.exercises.setdefault(event.what, ExerciseHistory())
                entry.passed, entry.checks, entry.hints, entry.last_mistakes = False, 0, 0, ()
            case "prediction":
                found.letters[event.what] = str(event.detail.get("letter"))
            case "verdict":
                right = event.detail.get("letter") == event.detail.get("answer")
                found.verdicts.setdefault(event.what, right)
            case "achievement":
                found.achievements.setdefault(event.what, event.at)
            case "clinic":
                _treated(found, event)
        yield found


def _treated(found: History, event: Event) -> None:
    rating, real = event.detail.get("rating"), event.detail.get("real")
    if isinstance(rating, int) and rating > 1:  # 1: the answer was asked for
        found.mended.add(event.what)
        if isinstance(real, str):
            found.real_bugs.add(real)


def _checked(found: History, event: Event, begun: dict[str, float]) -> None:
    name, passed = event.what, event.detail.get("passed") is True
    entry = found.exercises.setdefault(name, ExerciseHistory())
    started = begun.setdefault(name, found.seconds)
    entry.checks += 1
    entry.tries += not entry.ever_passed
    if passed:
        if entry.first_pass is None:
            entry.first_pass, entry.minutes = event.at, (found.seconds - started) / 60
        entry.passed = True
        order = event.detail.get("order")
        if isinstance(order, str) and order:
            entry.orders.add(order)
        for (exercise, _), mistake in found.mistakes.items():
            if exercise == name:
                mistake.mastered = mistake.once_mastered = True
    made = event.detail.get("mistakes")
    entry.last_mistakes = tuple(map(str, made)) if isinstance(made, list) and not passed else ()
    for id_ in entry.last_mistakes:
        mistake = found.mistakes.setdefault((name, id_), MistakeHistory(name, id_))
        mistake.times += 1
        mistake.mastered = False
