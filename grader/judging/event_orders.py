"""Lay the learner's order of events beside the right one, at the call in which they first differ.

Feedback draws both as timelines. Clearing the gradients at the end of a call is as right as at its start, and is not
shown as a difference.
"""

from difflib import SequenceMatcher

from grader.course.feedback import Moment
from grader.observe.trace import Event, Run

_SHOWN_EVENTS = 12
"""Maximum number of events on a timeline."""


def timelines(run: Run, solution: Run, update: int | None) -> tuple[tuple[Moment, ...], tuple[Moment, ...]]:
    """Return the learner's and the solution's events in the call in which they first differ, at most a dozen each.

    Args:
        run: the learner's run.
        solution: the solution's run.
        update: number of the first wrong update, from 1; None if no update is wrong.
    """
    call = _first_differing_call(run, solution, update)
    yours = [e for e in run.events if e.call == call and e.kind != "gradient"]
    right = [e for e in solution.events if e.call == call and e.kind != "gradient"]
    if _clears_after_the_last(yours, "step") and not _clears_before_the_first(yours, "backward"):
        right = _clearing_at_the_end(right)  # equally right, and comparable with the learner's order
    same_yours, same_right = _aligned(yours, right)
    return (
        _shown(yours, same_yours, update, own=True),
        _shown(right, same_right, update, own=False),
    )


def differing(run: Run, solution: Run) -> list[Event]:
    """Return the learner's events that have no partner among the solution's, call by call."""
    found: list[Event] = []
    for call in sorted({e.call for e in run.events}):
        yours = [e for e in run.events if e.call == call]
        same, _ = _aligned(yours, [e for e in solution.events if e.call == call])
        found += [event for i, event in enumerate(yours) if i not in same]
    return found


def _aligned(yours: list[Event], right: list[Event]) -> tuple[set[int], set[int]]:
    """Return the indices of the events that have a partner on the other side, for both sides.

    Clearing at the end of a call instead of at its start is as right: the two count as partners.
    """
    matcher = SequenceMatcher(a=[_key(e) for e in yours], b=[_key(e) for e in right], autojunk=False)
    same_yours: set[int] = set()
    same_right: set[int] = set()
    for block in matcher.get_matching_blocks():
        same_yours.update(range(block.a, block.a + block.size))
        same_right.update(range(block.b, block.b + block.size))
    trailing = _clears_after_the_last(yours, "step") - same_yours
    leading = _clears_before_the_first(right, "backward") - same_right
    if trailing:  # harmless, whether or not the call also clears at its start
        same_yours |= trailing
        same_right |= leading
    return same_yours, same_right


def _clearing_at_the_end(events: list[Event]) -> list[Event]:
    """Move the events that clear gradients before the first backward to the end."""
    leading = _clears_before_the_first(events, "backward")
    kept = [event for i, event in enumerate(events) if i not in leading]
    return kept + [events[i] for i in sorted(leading)]


def _clears_after_the_last(events: list[Event], kind: str) -> set[int]:
    """Return the indices of `zero_grad` events after the last event of a kind."""
    last = max((i for i, e in enumerate(events) if e.kind == kind), default=len(events))
    return {i for i, e in enumerate(events) if e.kind == "zero_grad" and i > last}


def _clears_before_the_first(events: list[Event], kind: str) -> set[int]:
    """Return the indices of `zero_grad` events before the first event of a kind."""
    first = next((i for i, e in enumerate(events) if e.kind == kind), 0)
    return {i for i, e in enumerate(events) if e.kind == "zero_grad" and i < first}


def _shown(events: list[Event], same: set[int], update: int | None, *, own: bool) -> tuple[Moment, ...]:
    """Return at most a dozen events as moments, from where the wrong update begins.

    If no update is wrong, they are those around the first event that differs. `own`: with the learner's lines.
    """
    moments = [_moment(e, i not in same, own=own) for i, e in enumerate(events)]
    if update is not None:
        start = next((i for i, e in enumerate(events) if e.state >= update - 1), 0)
    else:
        odd = next((i for i in range(len(events)) if i not in same), 0)
        start = max(0, odd - _SHOWN_EVENTS // 2)
    return tuple(moments[start : start + _SHOWN_EVENTS])


def _first_differing_call(run: Run, solution: Run, update: int | None) -> int:
    """Return the call that makes the wrong update; else the first call whose events differ; else 0."""
    for events, arrays in ((run.events, run.arrays), (solution.events, solution.arrays)):
        if update is not None and update < len(arrays.get("theta", ())):
            made = [e.call for e in events if e.kind == "step" and e.state == update - 1]
            if made:
                return made[0]
    # Only calls that occur: a forged trace may number its calls as it likes.
    for call in sorted({e.call for e in (*run.events, *solution.events)}):
        if [_key(e) for e in run.events if e.call == call] != [
            _key(e) for e in solution.events if e.call == call
        ]:
            return call
    return 0


def _key(event: Event) -> tuple[str, int | None]:
    """Return what makes two events the same on a timeline."""
    return event.kind, event.batch


def _moment(event: Event, differs: bool, *, own: bool) -> Moment:
    batch = None if event.batch is None else event.batch + 1
    return Moment(event.kind, event.line if own else None, batch, differs)
