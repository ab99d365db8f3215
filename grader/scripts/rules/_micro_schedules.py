"""Tell schedules that are stepped for every micro-batch of an update, for the rules that would call it otherwise."""

import itertools

from grader.scripts.facts import BackwardRan, Facts, Scheduled, Stepped, UpdatedByHand
from grader.scripts.places import Place
from grader.scripts.rules._windows import usual_length, windows
from grader.scripts.things import SchedulerFacts

_FEWEST = 3


def micro_window(facts: Facts, scheduler: SchedulerFacts) -> int:
    """Return how many micro-batches an update has if the scheduler is stepped for each of them; else 0."""
    if scheduler.optimizer is None or scheduler.kind == "ReduceLROnPlateau":
        return 0
    own = windows(facts, scheduler.optimizer)
    calls = [one for one in facts.of(Scheduled) if one.scheduler == scheduler.number]
    steps = facts.steps(scheduler.optimizer)
    window = usual_length(own)
    aligned = 0
    for before, after in itertools.pairwise(steps):
        inside = facts.between(before.serial, after.serial)
        backwards = sum(isinstance(one, BackwardRan) for one in inside)
        moved = sum(isinstance(one, Scheduled) and one.scheduler == scheduler.number for one in inside)
        aligned += moved == backwards == window
    if not aligned:  # SAM reads the second pass only
        turns = [_turns(facts, scheduler, *both) for both in itertools.pairwise(steps)]
        window = max(set(turns), key=turns.count, default=0)
        aligned = turns.count(window)
    whole = len(steps) - 1
    if window < 2 or len(own) < _FEWEST or not calls or aligned < _FEWEST or aligned < 0.6 * whole:
        return 0
    return window


def _turns(facts: Facts, scheduler: SchedulerFacts, before: Stepped, after: Stepped) -> int:
    """Count a scheduler's moves between two steps if one backward of one line, and no other step, led to each.

    0 if it is otherwise: another optimizer's step between them may be what the scheduler is to follow.
    """
    moved = 0
    since: list[BackwardRan] = []
    seen: set[Place | None] = set()
    for one in facts.between(before.serial, after.serial):
        if isinstance(one, BackwardRan):
            since.append(one)
        elif isinstance(one, Stepped | UpdatedByHand):
            return 0
        elif isinstance(one, Scheduled) and one.scheduler == scheduler.number:
            if len(since) != 1:
                return 0
            moved, seen, since = moved + 1, {*seen, since[0].place}, []
    return moved if len(seen) == 1 else 0
