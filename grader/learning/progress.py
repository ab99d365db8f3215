"""What a learner has passed, predicted, and which hints were read: one small JSON file in the user's data folder."""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from grader.files import write_whole
from grader.paths import user_folder


@dataclass
class ExerciseProgress:
    """One exercise."""

    passed: bool = False
    checks: int = 0
    hints: int = 0
    """How many hints have been shown."""


@dataclass
class Progress:
    """All exercises. Losing it costs nothing but the tick marks, so no error here may stop a check."""

    exercises: dict[str, ExerciseProgress] = field(default_factory=dict)
    predictions: dict[str, str] = field(default_factory=dict)
    """The letters that were chosen, by the prediction's id."""

    @classmethod
    def path(cls) -> Path:
        """The file."""
        return user_folder() / "progress.json"

    @classmethod
    def load(cls) -> "Progress":
        """What is on the disk; an unreadable file counts as none."""
        try:
            document = json.loads(cls.path().read_text(encoding="utf-8"))
            exercises = {str(name): _read(entry) for name, entry in document["exercises"].items()}
            predictions = {str(i): str(letter) for i, letter in document.get("predictions", {}).items()}
            return cls(exercises, predictions)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return cls()

    def record_check(self, exercise: str, passed: bool) -> None:
        """Count a check; what was passed once stays passed."""
        entry = self.exercises.setdefault(exercise, ExerciseProgress())
        entry.checks += 1
        entry.passed = entry.passed or passed
        self._save()

    def next_hint(self, exercise: str, total: int) -> int:
        """Number (from 1) of the hint to show now; after the last one the last one again."""
        entry = self.exercises.setdefault(exercise, ExerciseProgress())
        entry.hints = min(entry.hints + 1, total)
        self._save()
        return entry.hints

    def record_prediction(self, prediction: str, letter: str) -> None:
        """Keep a choice; a later one takes its place."""
        self.predictions[prediction] = letter
        self._save()

    def forget(self, exercise: str) -> None:
        """Start over with this exercise."""
        self.exercises.pop(exercise, None)
        self._save()

    def _save(self) -> None:
        path = self.path()
        exercises = {name: asdict(entry) for name, entry in self.exercises.items()}
        text = json.dumps({"exercises": exercises, "predictions": self.predictions}, indent=1)
        with suppress(OSError):  # a read-only home: the lesson goes on without tick marks
            write_whole(path, text)


def _read(entry: dict[str, Any]) -> ExerciseProgress:
    return ExerciseProgress(bool(entry["passed"]), int(entry["checks"]), int(entry["hints"]))
