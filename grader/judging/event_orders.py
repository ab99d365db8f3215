"""Compare the order of the learner's events with the solution's, call by call.

Feedback draws the two orders as timelines, for the call in which they first differ. Clearing the gradients at the end
of a call is as right as clearing them at its start, and is not shown as a difference.
"""

from difflib import SequenceMatcher

from grader.course.feedback import Moment
from grader.observe.trace import Event, Run

_MAX_EVENTS = 12
"""Maximum number of events on a timeline."""


def timelines(run: Run, solution: Run, update: int | None) -> tuple[tuple[Moment, ...], tuple[Moment, ...]]:
    """Return the learner's and the solution's events in the call to show, at most a dozen each.

    The call to show is the one that makes the wrong update, or else the first in which the events differ.

    Args:
        run: the learner's run.
        solution: the solution's run.
        update: number of the first wrong update, from 1; None if no update is wrong.
    """
    call = _call_to_show(run, solution, update)
    yours = [e for e in run.events if e.call == call and e.kind != "gradient"]
    right = [e for e in solution.events if e.call == call and e.kind != "gradient"]
    if _clears_after_steps(yours) and not _clears_before_backward(yours):
        right = _move_clears_to_end(right)  # equally right, and comparable with the learner's order
    paired_yours, paired_right = _pair(yours, right)
    return (
        _excerpt(yours, paired_yours, update, with_lines=True),
        _excerpt(right, paired_right, update, with_lines=False),
    )


def unpaired_events(run: Run, solution: Run) -> list[Event]:
    """Return the learner's events that have no partner among the solution's events of the same call."""
    unpaired: list[Event] = []
    for call in sorted({e.call for e in run.events}):
        yours = [e for e in run.events if e.call == call]
        paired, _ = _pair(yours, [e for e in solution.events if e.call == call])
        unpaired += [event for i, event in enumerate(yours) if i not in paired]
    return unpaired


def _pair(yours: list[Event], right: list[Event]) -> tuple[set[int], set[int]]:
    """Pair equal events of two orders; return the indices of events with a partner, in `yours` and in `right`.

    Clearing the gradients at the end of a call is paired with clearing them at its start.
    """
    matcher = SequenceMatcher(a=[_key(e) for e in yours], b=[_key(e) for e in right], autojunk=False)
    paired_yours: set[int] = set()
    paired_right: set[int] = set()
    for block in matcher.get_matching_blocks():
        paired_yours.update(range(block.a, block.a + block.size))
        paired_right.update(range(block.b, block.b + block.size))
    at_end = _clears_after_steps(yours) - paired_yours
    at_start = _clears_before_backward(right) - paired_right
    if at_end:
        # Clearing twice is harmless, so clearing at the end counts as paired even if `at_start` is empty.
        paired_yours |= at_end
        paired_right |= at_start
    return paired_yours, paired_right


def _move_clears_to_end(events: list[Event]) -> list[Event]:
    """Return the events with those `zero_grad` that come before the first `backward` moved to the end."""
    at_start = _clears_before_backward(events)
    kept = [event for i, event in enumerate(events) if i not in at_start]
    return kept + [events[i] for i in sorted(at_start)]


def _clears_after_steps(events: list[Event]) -> set[int]:
    """Return the indices of `zero_grad` events after the last `step`; empty without a `step`."""
    last_step = max((i for i, e in enumerate(events) if e.kind == "step"), default=len(events))
    return {i for i, e in enumerate(events) if e.kind == "zero_grad" and i > last_step}


def _clears_before_backward(events: list[Event]) -> set[int]:
    """Return the indices of `zero_grad` events before the first `backward`; empty without a `backward`."""
    first_backward = next((i for i, e in enumerate(events) if e.kind == "backward"), 0)
    return {i for i, e in enumerate(events) if e.kind == "zero_grad" and i < first_backward}


def _excerpt(
    events: list[Event], paired: set[int], update: int | None, *, with_lines: bool
) -> tuple[Moment, ...]:
    """Return at most a dozen events as moments.

    They begin with the first event after update `update` - 1. If no update is wrong, they surround the first event
    without a partner. `with_lines` is False for the solution, whose lines are no line of the learner's.
    """
    moments = [_moment(e, i not in paired, with_line=with_lines) for i, e in enumerate(events)]
    if update is not None:
        start = next((i for i, e in enumerate(events) if e.state >= update - 1), 0)
    else:
        first_unpaired = next((i for i in range(len(events)) if i not in paired), 0)
        start = max(0, first_unpaired - _MAX_EVENTS // 2)
    return tuple(moments[start : start + _MAX_EVENTS])


def _call_to_show(run: Run, solution: Run, update: int | None) -> int:
    """Return the call, counted from 0, that makes the wrong update; else the first whose events differ; else 0.

    An update that the learner's run lacks is looked up in the solution's.
    """
    for one in (run, solution):
        if update is not None and update < len(one.arrays.get("theta", ())):
            calls = [e.call for e in one.events if e.kind == "step" and e.state == update - 1]
            if calls:
                return calls[0]
    # Not range(…): a forged trace may number its calls as it likes.
    for call in sorted({e.call for e in (*run.events, *solution.events)}):
        yours = [_key(e) for e in run.events if e.call == call]
        if yours != [_key(e) for e in solution.events if e.call == call]:
            return call
    return 0


def _key(event: Event) -> tuple[str, int | None]:
    """Return what two events must have in common to be paired."""
    return event.kind, event.batch


def _moment(event: Event, differs: bool, *, with_line: bool) -> Moment:
    batch_number = None if event.batch is None else event.batch + 1
    return Moment(event.kind, event.line if with_line else None, batch_number, differs)
