"""Decide when a mistake comes back, by the FSRS algorithm fed with the learner's events.

Nothing but the events is stored, so progress merged from two machines gives the same days on both. Making a mistake in
a check, or asking for the answer in the clinic, counts as having forgotten it; mending it counts as having remembered
it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime

from fsrs import Card, Rating, Scheduler

from grader.course.course import Course
from grader.learner.event import LearnerEvent
from grader.learner.history import is_certain

_LONGEST_DAYS = 365
# Whole days without steps of minutes, and no random fuzz: every machine with the same events must come to the same day.
_SCHEDULER = Scheduler(
    learning_steps=(), relearning_steps=(), enable_fuzzing=False, maximum_interval=_LONGEST_DAYS
)
Key = tuple[str, str]
"""(exercise, id of the mistake)."""


@dataclass(frozen=True)
class Appointment:
    """The next meeting with one mistake."""

    exercise: str
    mistake: str
    due: date
    """Day on which it is due, by the calendar of this machine."""
    last: date


def appointments(events: Iterable[LearnerEvent], course: Course) -> list[Appointment]:
    """Return the next meeting with every mistake the learner has met, the earliest first.

    Args:
        events: the learner's events, in order.
        course: the course. Mistakes that it does not know belong to another edition and are left out.
    """
    known = {(e.name, m.id) for e in course.exercises.values() for m in e.mistakes}
    cards: dict[Key, Card] = {}
    last: dict[Key, date] = {}
    for event in events:
        moment = datetime.fromtimestamp(event.at, UTC)
        day = day_of(event.at)
        for key, rating in _reviews(event):
            if key not in known or (event.kind == "check" and last.get(key) == day):
                continue  # checks of one day that name the mistake again count as one meeting
            card = cards.get(key) or Card(card_id=0, due=moment)
            cards[key], _ = _SCHEDULER.review_card(card, rating, moment)
            last[key] = day
    found = [Appointment(*key, card.due.astimezone().date(), last[key]) for key, card in cards.items()]
    return sorted(found, key=lambda one: (one.due, one.exercise, one.mistake))


def _reviews(event: LearnerEvent) -> Iterable[tuple[Key, Rating]]:
    """Yield the FSRS reviews that an event amounts to: (key, rating)."""
    if event.kind == "clinic":
        exercise, _, mistake = event.what.partition("/")
        rating = event.detail.get("rating")
        if isinstance(rating, int) and rating in list(Rating):
            yield (exercise, mistake), Rating(rating)
    elif event.kind == "check" and event.detail.get("passed") is not True:
        made = event.detail.get("mistakes")
        for id_ in filter(is_certain, map(str, made if isinstance(made, list) else ())):
            yield (event.what, id_), Rating.Again


def day_of(at: float) -> date:
    """Return the day of a moment, in seconds since the epoch, by the calendar of this machine."""
    return datetime.fromtimestamp(at, UTC).astimezone().date()
