"""Compute a learner's history from the events, without input or output.

It covers exercises, predictions, mistakes, days and minutes. A reset puts an exercise back to its start: `passed`,
`checks`, `hints_seen` and `last_mistakes` count since the reset. Everything else counts from the beginning, so what was
learned stays.

A mistake is overcome (`mastered`) by a pass, unless the answer or the lines to write were shown before it was mended;
then by finding it in the clinic, by a right drill, or by a pass after a reset.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Annotated

import msgspec
from msgspec import Meta

from grader.course.feedback import MOST_MISTAKES
from grader.learner.event import LearnerEvent

AWAY_SECONDS = 20 * 60
"""Between two events farther apart than this the learner was doing something else; the gap is not counted as time."""
_WORK = ("check", "hint", "prediction", "clinic", "drill")
"""Kinds of events initiated by the learner; only they count as days and time."""


_Hint = Annotated[str, Meta(max_length=4_000)]
Road = tuple[tuple[Annotated[str, Meta(min_length=1, max_length=2_000)], tuple[_Hint, _Hint, _Hint]], ...]
"""The mistakes that a check named: (id, the steps of its hints, see `report.hint_ladder`).

A step is empty if nothing is known for it. Some versions wrote the mistake that was named first alone.
"""


@dataclass
class ExerciseHistory:
    """History of one exercise."""

    passed: bool = False
    """Since the last reset."""
    checks: int = 0
    """Since the last reset, up to the pass."""
    hints_seen: dict[tuple[str, int], None] = field(default_factory=dict)
    """(id of the mistake, number) of each hint shown since the last reset, in the order in which they were shown first.

    The id is empty for a hint of the exercise itself. Those about a mistake of `road` are kept since checks in a row
    have named it, those about other mistakes are not kept. The numbers may be forged.
    """
    first_pass: float | None = None
    """Time of the first pass in seconds since 1970; None if never passed."""
    tries: int = 0
    """Number of checks up to and including the first pass."""
    hints_used: int = 0
    """Hints shown before the first pass."""
    hints_taken: int = 0
    """Hints shown since the last reset, up to the pass, those about mistakes that are mended included."""
    answer_seen: bool = False
    """True if the answer was shown since the last reset, before a pass."""
    with_answer: bool = False
    """True if the answer was shown before the first pass. Events of earlier versions do not tell."""
    drilled: float | None = None
    """Time of the last right drill in seconds since 1970; None if there is none."""
    minutes: float = 0.0
    """Minutes from the first check to the first pass, without time away."""
    orders: set[str] = field(default_factory=set)
    """Orders of calls with which it has passed; see `grader.learner.earned.order_of_calls`."""
    last_mistakes: tuple[str, ...] = ()
    """Ids of the mistakes that the last check named, as in results.json; empty after a pass or a reset."""
    road: Road = ()
    """Hints about these mistakes; empty if a version wrote the event that had none."""
    last_check: tuple[str, bool, tuple[str, ...]] | None = None
    """Of the last check: fingerprint of the definition, whether it passed, ids of the mistakes; None after a reset."""

    @property
    def hints_shown(self) -> int:
        """Number of hints shown of the exercise and about the mistakes that the last check named."""
        return len(self.hints_seen)

    @property
    def ever_passed(self) -> bool:
        """True if it has passed at least once, resets aside."""
        return self.first_pass is not None

    @property
    def is_reset(self) -> bool:
        """True if it passed before its last reset, and has not passed again."""
        return self.ever_passed and not self.passed


@dataclass
class MistakeHistory:
    """History of one mistake in one exercise; `id` is as in results.json."""

    exercise: str
    id: str
    times: int = 0
    mastered: bool = False
    """True if it has been overcome since it was last made; see the module's docstring."""
    once_mastered: bool = False
    """True if `mastered` has ever been true; rewards for it stay when the mistake comes back."""
    answer_shown: bool = False
    """True if the answer, or the lines to write, were shown before it was mended; then the pass does not overcome it.

    Hints of earlier versions do not tell that they were about the lines.
    """
    after_a_pass: bool = False
    """True if it was first made after the exercise had passed; then mastering it earns nothing."""


@dataclass
class History:
    """Everything computed from the events."""

    exercises: dict[str, ExerciseHistory] = field(default_factory=dict)
    mistakes: dict[tuple[str, str], MistakeHistory] = field(default_factory=dict)
    """By exercise and id, in the order in which the mistakes were first made; see `is_certain`."""
    letters: dict[str, str] = field(default_factory=dict)
    """Last chosen letter by prediction."""
    verdicts: dict[str, bool] = field(default_factory=dict)
    """By prediction, in the order of the reveals: True if the letter chosen at the first reveal was right."""
    achievements: dict[str, float] = field(default_factory=dict)
    """Time of winning by achievement, in seconds since 1970."""
    mended: set[str] = field(default_factory=set)
    """`exercise/mistake` of mistakes found in the clinic without asking for the answer."""
    real_bugs: set[str] = field(default_factory=set)
    """Ids of the real bugs among them."""
    days: set[date] = field(default_factory=set)
    seconds: float = 0.0

    def exercise(self, name: str) -> ExerciseHistory:
        """Return the history of an exercise; an empty one if nothing has happened."""
        return self.exercises.get(name, ExerciseHistory())

    @property
    def longest_streak(self) -> int:
        """Most consecutive days with work."""
        ends = (day for day in self.days if day + timedelta(days=1) not in self.days)
        return max(map(self._streak_to, ends), default=0)

    def streak(self, today: date) -> int:
        """Return the number of consecutive days with work up to today, or up to yesterday if today has none yet."""
        return self._streak_to(today) or self._streak_to(today - timedelta(days=1))

    def _streak_to(self, day: date) -> int:
        length = 0
        while day - timedelta(days=length) in self.days:
            length += 1
        return length


def history(events: Iterable[LearnerEvent]) -> History:
    """Compute the history from events in order; unknown kinds are ignored."""
    return [History(), *history_after_each(events)][-1]


def history_after_each(events: Iterable[LearnerEvent]) -> Iterator[History]:
    """Yield the history after each event. It is the same object every time, and grows."""
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
                _add_check(found, event, begun)
            case "hint":
                entry = found.exercises.setdefault(event.what, ExerciseHistory())
                _add_hint(found, entry, event)
                entry.hints_used += not entry.ever_passed
                entry.hints_taken += not entry.passed
            case "reset":
                entry = found.exercises.setdefault(event.what, ExerciseHistory())
                entry.passed, entry.checks, entry.last_mistakes = False, 0, ()
                entry.hints_seen, entry.road, entry.hints_taken, entry.last_check = {}, (), 0, None
                entry.answer_seen = False
                for mistake in _of_exercise(found, event.what):
                    mistake.answer_shown = False
            case "prediction":
                found.letters[event.what] = str(event.detail.get("letter"))
            case "verdict":
                right = event.detail.get("letter") == event.detail.get("answer")
                found.verdicts.setdefault(event.what, right)
            case "achievement":
                found.achievements.setdefault(event.what, event.at)
            case "clinic":
                _add_clinic(found, event)
            case "drill":
                found.exercises.setdefault(event.what, ExerciseHistory()).drilled = event.at
                _overcome(_of_exercise(found, event.what))
        yield found


def _of_exercise(found: History, name: str) -> list[MistakeHistory]:
    return [mistake for mistake in found.mistakes.values() if mistake.exercise == name]


def _overcome(mistakes: Iterable[MistakeHistory]) -> None:
    for mistake in mistakes:
        mistake.mastered = mistake.once_mastered = True
        mistake.answer_shown = False


def _add_hint(found: History, entry: ExerciseHistory, event: LearnerEvent) -> None:
    number, mistake = event.detail.get("number"), event.detail.get("mistake")
    mistake = mistake if isinstance(mistake, str) else ""
    if isinstance(number, int) and (not mistake or mistake in dict(entry.road)):
        entry.hints_seen[mistake, number] = None  # one that is there already keeps its place
    made = found.mistakes.get((event.what, mistake))
    if made is not None and event.detail.get("lines") is True and not entry.passed:
        made.answer_shown = True
    if event.detail.get("answer") is True and not entry.passed:
        entry.answer_seen = True
        entry.with_answer = entry.with_answer or not entry.ever_passed
        for id_ in entry.last_mistakes:
            if (event.what, id_) in found.mistakes:
                found.mistakes[event.what, id_].answer_shown = True


def _add_clinic(found: History, event: LearnerEvent) -> None:
    rating, real = event.detail.get("rating"), event.detail.get("real")
    if isinstance(rating, int) and rating > 1:  # 1: the learner asked for the answer
        found.mended.add(event.what)
        exercise, _, mistake = event.what.partition("/")
        made = found.mistakes.get((exercise, mistake))
        if made is not None and found.exercise(exercise).passed:
            _overcome([made])
        if isinstance(real, str):
            found.real_bugs.add(real)


def _add_check(found: History, event: LearnerEvent, begun: dict[str, float]) -> None:
    """Count a check; a pass overcomes mistakes of the exercise, a failure opens those that are certain.

    `begun` holds, by exercise, the learner's working seconds at its first check.
    """
    name, passed = event.what, event.detail.get("passed") is True
    entry = found.exercises.setdefault(name, ExerciseHistory())
    started = begun.setdefault(name, found.seconds)
    entry.checks += not entry.passed
    entry.tries += not entry.ever_passed
    if passed:
        if entry.first_pass is None:
            entry.first_pass, entry.minutes = event.at, (found.seconds - started) / 60
        entry.passed = True
        order = event.detail.get("order")
        if isinstance(order, str) and order:
            entry.orders.add(order)
        _overcome(mistake for mistake in _of_exercise(found, name) if not mistake.answer_shown)
    made = event.detail.get("mistakes")
    entry.last_mistakes = tuple(map(str, made)) if isinstance(made, list) and not passed else ()
    entry.road = () if passed else _road(event.detail.get("road"))
    text = event.detail.get("text")
    entry.last_check = (text, passed, entry.last_mistakes) if isinstance(text, str) else None
    named = {"", *dict(entry.road)}
    entry.hints_seen = {hint: None for hint in entry.hints_seen if hint[0] in named}
    for id_ in filter(is_certain, entry.last_mistakes):
        new = MistakeHistory(name, id_, after_a_pass=entry.ever_passed)
        mistake = found.mistakes.setdefault((name, id_), new)
        mistake.times += 1
        mistake.mastered = False
        # Told before the pass and made again: it is still told. After a pass, only the answer is.
        mistake.answer_shown = entry.answer_seen or (mistake.answer_shown and not entry.passed)


def is_certain(mistake: str) -> bool:
    """Return True if a check named this mistake alone, not as one of several that behave alike (`a|b`).

    Only such a mistake counts as one that the learner has made.
    """
    return "|" not in mistake


def _road(value: object) -> Road:
    """Return the hints about mistakes that a check's event holds; none if it holds no such thing."""
    try:
        road = msgspec.convert(value if isinstance(value, list) else [], Road)
    except msgspec.ValidationError:
        return ()
    return road[:MOST_MISTAKES]
