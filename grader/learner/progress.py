"""What a learner has done so far, and what is kept of what happens now: the one door to the progress file.

Losing it costs tick marks, not marks; so no error of the disk may stop a check, and none does (see `store`).
"""

from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path

from grader.learner.event import Event, happened
from grader.learner.history import ExerciseHistory, History, history
from grader.learner.store import Store
from grader.paths import user_folder


class Progress:
    """One learner's progress, as it was when it was loaded and with what was recorded through it since."""

    def __init__(self, store: Store) -> None:
        """Read what is there."""
        self._store = store
        self._events = store.read()
        self.history: History = history(self._events)

    @classmethod
    def path(cls) -> Path:
        """The file."""
        return Store(user_folder()).path

    @classmethod
    def load(cls) -> "Progress":
        """What is on the disk; an unreadable file counts as none."""
        return cls(Store(user_folder()))

    @property
    def events(self) -> Sequence[Event]:
        """Everything that is known, in order."""
        return self._events

    def take_notices(self) -> tuple[str, ...]:
        """Korean lines on what is wrong with the file, to be shown now: each is told once."""
        return tuple(self._store.take_notices())

    @property
    def is_saved(self) -> bool:
        """Whether everything that was recorded is on the disk."""
        return self._store.is_saved

    @property
    def exercises(self) -> dict[str, ExerciseHistory]:
        """Those that were begun since their last reset."""
        return {name: e for name, e in self.history.exercises.items() if e.checks or e.hints}

    @property
    def passed(self) -> frozenset[str]:
        """Names of the exercises that have passed since their last reset."""
        return frozenset(name for name, entry in self.history.exercises.items() if entry.passed)

    @property
    def predictions(self) -> dict[str, str]:
        """The letters that were chosen, by the prediction's id."""
        return dict(self.history.letters)

    def streak(self) -> int:
        """Days one after another, up to today or yesterday."""
        return self.history.streak(date.today())

    def record_check(
        self, exercise: str, passed: bool, mistakes: Sequence[str] = (), order: str = ""
    ) -> None:
        """Count a check; what was passed once stays passed.

        Args:
            exercise: its name.
            passed: whether every check of it passed.
            mistakes: ids of those that were named, as in results.json.
            order: of its calls, where several are right.
        """
        detail = {"passed": passed} | ({"order": order} if order else {})
        self.record(
            [happened("check", exercise, **detail, **({"mistakes": [*mistakes]} if mistakes else {}))]
        )

    def next_hint(self, exercise: str, total: int) -> int:
        """Number (from 1) of the hint to show now; after the last one the last one again."""
        number = min(self.history.exercise(exercise).hints + 1, total)
        self.record([happened("hint", exercise, number=number)])
        return number

    def record_prediction(self, prediction: str, letter: str) -> None:
        """Keep a choice; a later one takes its place."""
        self.record([happened("prediction", prediction, letter=letter)])

    def record_verdict(self, prediction: str, letter: str, answer: str) -> None:
        """Keep that the answer was told to one who had chosen this letter; only the first time counts."""
        if prediction not in self.history.verdicts:
            self.record([happened("verdict", prediction, letter=letter, answer=answer)])

    def record_achievements(self, ids: Iterable[str]) -> None:
        """Keep what was won just now."""
        self.record([happened("achievement", one) for one in ids])

    def forget(self, exercise: str) -> None:
        """Start over with this exercise; what was won with it stays."""
        if exercise in self.history.exercises:
            self.record([happened("reset", exercise)])

    def record(self, events: Sequence[Event]) -> None:
        """Keep events; those that are there already change nothing."""
        if not events:
            return
        self._store.add(events)
        self._events = self._store.read()
        self.history = history(self._events)
