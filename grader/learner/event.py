"""Define `LearnerEvent`, one thing that a learner did. Progress is a set of them; all that is shown comes from these.

| kind          | what             | detail                                                                            |
|---------------|------------------|-----------------------------------------------------------------------------------|
| `check`       | exercise         | `passed`; `mistakes`: ids, if not passed; `road`: hints; `order`: of calls;       |
|               |                  | `text`: fingerprint of the definition                                             |
| `hint`        | exercise         | `number`, from 1; `mistake`: id, for a hint about a mistake; `answer`: true, for  |
|               |                  | the answer                                                                        |
| `reset`       | exercise         |                                                                                   |
| `prediction`  | prediction's id  | `letter`                                                                          |
| `verdict`     | prediction's id  | `letter` chosen when the answer was first revealed; `answer`                      |
| `achievement` | achievement's id |                                                                                   |
| `clinic`      | exercise/mistake | `rating`: 1 answer shown, 2 after wrong tries, 3 at once; `how`; `real`: bug's id |
| `drill`       | exercise         | written from memory, and right                                                    |
"""

import hashlib
import time
import uuid
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

_Name = Annotated[str, Meta(min_length=1, max_length=2_000)]


class LearnerEvent(Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that happened, and when. Events with the same id are the same event; merging needs nothing else."""

    id: _Name
    at: Annotated[float, Meta(ge=0, le=1e11)]
    """Seconds since 1970."""
    kind: _Name
    what: _Name
    detail: dict[str, Any] = {}


def happened(kind: str, what: str, **detail: Any) -> LearnerEvent:
    """Return an event that happens now."""
    return LearnerEvent(uuid.uuid4().hex, time.time(), kind, what, detail)


def in_order(events: "dict[str, LearnerEvent]") -> list[LearnerEvent]:
    """Sort events by time; the order is the same on every machine that has these events."""
    return sorted(events.values(), key=lambda event: (event.at, event.id))


_MOST_EVENTS = 1_000
"""Maximum checks or hints taken over per exercise: the file could have been edited by hand."""


class _OldExercise(Struct):
    """The entry of one exercise in `progress.json`."""

    passed: bool = False
    checks: int = 0
    hints: int = 0


class _OldFile(Struct):
    """The content of `progress.json`."""

    exercises: dict[_Name, _OldExercise]
    predictions: dict[_Name, str] = {}


def events_of_json(text: bytes, at: float) -> list[LearnerEvent]:
    """Convert `progress.json`, the progress file up to version 0.2, to events.

    Args:
        text: the file's content.
        at: time of its last change, in seconds since 1970; used as the time of the events.

    Returns:
        Events with the same ids for the same content; empty if the file is not readable.
    """
    try:
        document = msgspec.json.decode(text, type=_OldFile)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    occurrences: list[tuple[str, str, dict[str, Any]]] = []
    for name, entry in document.exercises.items():
        occurrences += [("hint", name, {"number": n + 1}) for n in range(min(entry.hints, _MOST_EVENTS))]
        checks = max(min(entry.checks, _MOST_EVENTS), int(entry.passed))
        occurrences += [("check", name, {"passed": entry.passed and n == checks - 1}) for n in range(checks)]
    occurrences += [("prediction", name, {"letter": letter}) for name, letter in document.predictions.items()]
    found, seen = [], dict[tuple[str, str], int]()
    for place, (kind, what, detail) in enumerate(occurrences):
        number = seen[kind, what] = seen.get((kind, what), 0) + 1
        name = hashlib.sha256(f"progress.json\0{kind}\0{what}\0{number}".encode()).hexdigest()[:32]
        moment = max(0.0, at - 1e-3 * (len(occurrences) - place))  # a millisecond apart, to keep this order
        found.append(LearnerEvent(name, moment, kind, what, detail))
    return found
