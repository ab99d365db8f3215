"""Choose the clinic's cases for one day: mistakes that are due, then new ones, for about five minutes.

A case is nearly the exercise's answer. So cases come only from exercises that have passed, or from one that the learner
asks for by name; before anything has passed, from the course's first warm-up, which earns no points.
"""

import random
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date

from grader.course.course import Course, Exercise
from grader.learner.progress import Progress
from grader.practice.case import (
    Case,
    changes_only_numbers,
    draw,
    draw_pair,
    is_scattered,
    is_short,
    length,
)
from grader.practice.schedule import Appointment, appointments, day_of

MINUTES = 5
_PER_DAY = 3
"""Cases a day, due and new ones together; more only if more are due."""
MOST_DUE = 5
"""Mistakes that come back on one day; what is due beyond them waits for the next."""
_PAIRS = 0.25
"""Share of new cases that have two mistakes at once."""
_FIRST = 4
"""Number of mistakes of an exercise from which one is drawn, the first in its file that were not met yet."""
_ALONE = 3
"""Number of cases with one mistake before the first with two."""


@dataclass(frozen=True)
class Today:
    """The clinic's list for one day."""

    due: tuple[Appointment, ...]
    """Due mistakes of exercises that can be handed out, the longest overdue first."""
    fresh: int
    """Number of new cases that there is room for."""
    following: date | None
    """The next day after today on which something is due; None if nothing is."""
    coming: int
    """Number of mistakes that are due on that day."""
    kept: int
    """Number of mistakes that come back some day, the due ones included."""
    waiting: int
    """Number of mistakes made in exercises that have not passed yet; they come up after those pass."""


def today(learner: Progress, course: Course, on: date, *, more: bool = False) -> Today:
    """Return the list for a day.

    Args:
        learner: the learner's progress.
        course: the course.
        on: the day.
        more: count as if nothing had been seen yet on this day.
    """
    every = appointments(learner.events, course)
    open_ = {exercise.name for exercise in candidates(learner, course)}
    open_ |= {what.partition("/")[0] for what in closed_cases(learner)}
    mine = [appointment for appointment in every if appointment.exercise in open_]
    due = [appointment for appointment in mine if appointment.due <= on]
    later = [appointment.due for appointment in mine if appointment.due > on]
    seen = 0 if more else seen_on(learner, on)
    return Today(
        tuple(due[:MOST_DUE]),
        max(0, _PER_DAY - len(due) - seen) if open_ else 0,
        min(later, default=None),
        later.count(min(later, default=on)),
        len(mine),
        sum(
            appointment.exercise not in open_ and is_short(course.exercise(appointment.exercise))
            for appointment in every
        ),
    )


def seen_on(learner: Progress, on: date) -> int:
    """Return the number of mistakes that the clinic has shown on a day; those made in checks leave room for it."""
    return len({event.what for event in learner.events if event.kind == "clinic" and day_of(event.at) == on})


def candidates(learner: Progress, course: Course) -> list[Exercise]:
    """Return the exercises from which new cases may be drawn: those that have passed and are short.

    If nothing has passed yet, the first warm-up.
    """
    passed = {name for name, history in learner.history.exercises.items() if history.ever_passed}
    short = [e for e in course.exercises.values() if (e.name in passed or e.kind == "warmup") and is_short(e)]
    return [e for e in short if e.name in passed] or short[:1]


def for_new_cases(learner: Progress, course: Course) -> list[Exercise]:
    """Return the candidates for a new case: without warm-ups as soon as anything else has passed."""
    every = candidates(learner, course)
    return [exercise for exercise in every if exercise.kind != "warmup"] or every


def returning(appointment: Appointment, course: Course, chance: random.Random) -> Case | None:
    """Draw a case anew for a mistake that is due; None if nothing can be drawn."""
    return draw(course.exercise(appointment.exercise), [appointment.mistake], chance)


def new_case(
    among: list[Exercise],
    met: Collection[tuple[str, str]],
    chance: random.Random,
    *,
    seen: int,
    last: str = "",
) -> Case | None:
    """Draw a mistake that was not met yet, or any if all were; None if nothing can be drawn.

    The first case comes from the shortest exercise; each one that was seen lets one more in, the next longer. Of an
    exercise, the mistakes that its file lists first come first: usual ones, of which the lesson has told.

    Args:
        among: exercises to draw from.
        met: (exercise, mistake id) of the mistakes that are scheduled already.
        chance: draws.
        seen: number of mistakes that the learner has closed in the clinic so far.
        last: name of the exercise of the case before, from which one is drawn only if there is no other.
    """
    by_length = sorted(among, key=length)
    within, beyond = by_length[: 1 + seen], by_length[1 + seen :]
    order = [*chance.sample(within, len(within)), *beyond]
    for exercise in sorted(order, key=lambda exercise: exercise.name == last):
        is_pair = seen >= _ALONE and chance.random() < _PAIRS
        if is_pair and (case := draw_pair(exercise, chance)) is not None:
            return case
        ids = [mistake.id for mistake in exercise.mistakes]
        unmet = [id_ for id_ in ids if (exercise.name, id_) not in met] or ids
        ordered = sorted(unmet, key=lambda id_: _comes_late(exercise, id_))
        first, later = ordered[:_FIRST], ordered[_FIRST:]
        for id_ in [*chance.sample(first, len(first)), *later]:
            if (case := draw(exercise, [id_], chance)) is not None:
                return case
    return None


def _comes_late(exercise: Exercise, id_: str) -> int:
    """Return 0 for a usual mistake, 1 for one of written numbers, 2 for one that looks like several."""
    return 2 if is_scattered(exercise, id_) else int(changes_only_numbers(exercise, id_))


def last_exercise(learner: Progress) -> str:
    """Return the exercise of the last case that was closed; empty if there is none."""
    cases = (event.what for event in reversed(learner.events) if event.kind == "clinic")
    return next(cases, "").partition("/")[0]


def closed_cases(learner: Progress) -> set[str]:
    """Return the mistakes that the learner has closed in the clinic, each as exercise/mistake."""
    return {event.what for event in learner.events if event.kind == "clinic"}
