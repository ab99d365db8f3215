"""When a mistake comes back: FSRS, fed with what happened. Nothing is kept of it but the events themselves.

So progress that is merged from two machines gives the same days on both. To make a mistake in a check, and to ask for
the answer in the clinic, is to have forgotten it; to mend it is to have remembered it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime

from fsrs import Card, Rating, Scheduler

from grader.course.course import Course
from grader.learner.event import Event

_LONGEST_DAYS = 365
# Days only, no steps of minutes; and no fuzz: every machine that knows the same events must say the same day.
_SCHEDULER = Scheduler(
    learning_steps=(), relearning_steps=(), enable_fuzzing=False, maximum_interval=_LONGEST_DAYS
)
Key = tuple[str, str]
"""Exercise and mistake."""


@dataclass(frozen=True)
class Appointment:
    """The next meeting with one mistake."""

    exercise: str
    mistake: str
    due: date
    """By the calendar of this machine."""
    last: date


def appointments(events: Iterable[Event], course: Course) -> list[Appointment]:
    """Every mistake that was met, the earliest due first.

    Args:
        events: in order.
        course: mistakes that it does not know are of another edition, and left out.
    """
    known = {(e.name, m.id) for e in course.exercises.values() for m in e.mistakes}
    cards: dict[Key, Card] = {}
    last: dict[Key, date] = {}
    for event in events:
        moment = datetime.fromtimestamp(event.at, UTC)
        day = _day(moment)
        for key, rating in _reviews(event):
            if key not in known or (event.kind == "check" and last.get(key) == day):
                continue  # five checks in a row that name it are one meeting
            card = cards.get(key) or Card(card_id=0, due=moment)
            cards[key], _ = _SCHEDULER.review_card(card, rating, moment)
            last[key] = day
    found = [Appointment(*key, _day(card.due), last[key]) for key, card in cards.items()]
    return sorted(found, key=lambda one: (one.due, one.exercise, one.mistake))


def _reviews(event: Event) -> Iterable[tuple[Key, Rating]]:
    if event.kind == "clinic":
        exercise, _, mistake = event.what.partition("/")
        rating = event.detail.get("rating")
        if isinstance(rating, int) and rating in list(Rating):
            yield (exercise, mistake), Rating(rating)
    elif event.kind == "check" and event.detail.get("passed") is not True:
        made = event.detail.get("mistakes")
        for joined in made if isinstance(made, list) else ():
            yield (event.what, str(joined).partition("|")[0]), Rating.Again


def _day(moment: datetime) -> date:
    return moment.astimezone().date()
