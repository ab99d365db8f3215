"""Load and record a learner's progress; the only access to the progress file.

Losing the file costs tick marks, not marks, so no disk error may stop a check, and none does (see `store`).
"""

from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path

from grader.learner.event import LearnerEvent, happened
from grader.learner.history import ExerciseHistory, History, Road, history
from grader.learner.store import Store
from grader.paths import user_folder


class Progress:
    """One learner's progress as it was when loaded, plus what was recorded through this object since."""

    def __init__(self, store: Store) -> None:
        """Read the store."""
        self._store = store
        self._events = store.read()
        self.history: History = history(self._events)

    @classmethod
    def path(cls) -> Path:
        """Path of the progress file."""
        return Store(user_folder()).path

    @classmethod
    def load(cls) -> "Progress":
        """Load the progress from disk; an unreadable file counts as empty."""
        return cls(Store(user_folder()))

    @property
    def events(self) -> Sequence[LearnerEvent]:
        """All known events, in order."""
        return self._events

    def take_notices(self) -> tuple[str, ...]:
        """Return Korean messages about trouble with the file, each only once; the caller shows them."""
        return tuple(self._store.take_notices())

    @property
    def is_saved(self) -> bool:
        """True if everything recorded is on the disk."""
        return self._store.is_saved

    @property
    def exercises(self) -> dict[str, ExerciseHistory]:
        """Histories of the exercises begun since their last reset, by name."""
        return {name: e for name, e in self.history.exercises.items() if e.checks or e.hints_shown}

    @property
    def passed(self) -> frozenset[str]:
        """Names of the exercises that have passed since their last reset."""
        return frozenset(name for name, entry in self.history.exercises.items() if entry.passed)

    @property
    def predictions(self) -> dict[str, str]:
        """Last chosen letter by prediction."""
        return dict(self.history.letters)

    def streak(self) -> int:
        """Return the number of consecutive days with work, up to today or yesterday."""
        return self.history.streak(date.today())

    def record_check(
        self,
        exercise: str,
        passed: bool,
        mistakes: Sequence[str] = (),
        order: str = "",
        road: Road = (),
        text: str = "",
    ) -> None:
        """Record a check; an exercise that has passed stays passed.

        Args:
            exercise: name of the exercise.
            passed: True if every check of it passed.
            mistakes: ids of the named mistakes, as in results.json.
            order: order of its calls, if several orders are right.
            road: hints about these mistakes.
            text: fingerprint of the definition that was checked.
        """
        detail: dict[str, object] = {"passed": passed}
        if order:
            detail["order"] = order
        if mistakes:
            detail["mistakes"] = [*mistakes]
        if road:
            detail["road"] = [[id_, [*hints]] for id_, hints in road]
        if text:
            detail["text"] = text
        self.record([happened("check", exercise, **detail)])

    def record_hint(
        self, exercise: str, number: int, mistake: str = "", *, answer: bool = False, lines: bool = False
    ) -> None:
        """Record that a hint was shown.

        Args:
            exercise: name of the exercise.
            number: number of the hint, from 1, among those of the exercise or about the mistake.
            mistake: id of the mistake that it is about; empty for a hint of the exercise.
            answer: True if it is the whole answer.
            lines: True if it tells what to write to mend the mistake.
        """
        more: dict[str, object] = {"mistake": mistake} if mistake else {}
        more |= {name: True for name, is_so in (("answer", answer), ("lines", lines)) if is_so}
        self.record([happened("hint", exercise, number=number, **more)])

    def record_drill(self, exercise: str) -> None:
        """Record that an exercise was written right from memory."""
        self.record([happened("drill", exercise)])

    def record_prediction(self, prediction: str, letter: str) -> None:
        """Record a choice; a later one replaces it."""
        self.record([happened("prediction", prediction, letter=letter)])

    def record_verdict(self, prediction: str, letter: str, answer: str) -> None:
        """Record that the answer was revealed to a learner who had chosen this letter; only the first time counts."""
        if prediction not in self.history.verdicts:
            self.record([happened("verdict", prediction, letter=letter, answer=answer)])

    def record_achievements(self, ids: Iterable[str]) -> None:
        """Record achievements as won now."""
        self.record([happened("achievement", id_) for id_ in ids])

    def forget(self, exercise: str) -> None:
        """Start over with this exercise; rewards for it stay."""
        if exercise in self.history.exercises:
            self.record([happened("reset", exercise)])

    def record(self, events: Sequence[LearnerEvent]) -> None:
        """Record events; those with an id that is stored already change nothing."""
        if not events:
            return
        self._store.add(events)
        self._events = self._store.read()
        self.history = history(self._events)
