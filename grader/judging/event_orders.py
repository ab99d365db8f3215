"""Compare the order of the learner's events with the solution's, call by call.

Feedback draws the two orders as timelines, for the call in which they first differ. Clearing the gradients at the end
of a call is as right as clearing them at its start, and is not shown as a difference.
"""

from difflib import SequenceMatcher

from grader.course.feedback import Moment
from grader.observe.trace import Event, Run

_MAX_MOMENTS = 12
"""Maximum number of events on a timeline."""


def timelines(run: Run, solution: Run, update: int | None) -> tuple[tuple[Moment, ...], tuple[Moment, ...]]:
    """Return the learner's and the solution's events in the call to show, at most a dozen of each.

    The call to show is the one that makes the wrong update, or else the first in which the events differ.

    Args:
        run: the learner's run.
        solution: the solution's run.
        update: number of the first wrong update, from 1; 0 if the parameters are wrong from the start; None if they are
            never wrong.
    """
    yours, expected = _orders_in_call(run, solution, _call_to_show(run, solution, update))
    paired_yours, paired_expected = _pair(yours, expected)
    return (
        _excerpt(yours, paired_yours, update, with_lines=True),
        _excerpt(expected, paired_expected, update, with_lines=False),
    )


def unpaired_events(run: Run, solution: Run) -> list[Event]:
    """Return the learner's events that have no partner among the solution's events of the same call."""
    unpaired: list[Event] = []
    for call in sorted({e.call for e in run.events}):
        yours = [e for e in run.events if e.call == call]
        paired, _ = _pair(yours, [e for e in solution.events if e.call == call])
        unpaired += [event for i, event in enumerate(yours) if i not in paired]
    return unpaired


def _orders_in_call(run: Run, solution: Run, call: int) -> tuple[list[Event], list[Event]]:
    """Return the learner's and the solution's events of a call as they are to be drawn.

    Events of the kind `gradient` are left out: they are what a backward pass does, which is drawn itself. If the
    learner clears the gradients only at the end of the call, so does the order that is returned for the solution.
    """
    yours = [e for e in run.events if e.call == call and e.kind != "gradient"]
    expected = [e for e in solution.events if e.call == call and e.kind != "gradient"]
    if _clears_after_last_step(yours) and not _clears_before_backward(yours):
        expected = _with_clears_at_end(expected, yours)
    return yours, expected


def _pair(yours: list[Event], expected: list[Event]) -> tuple[set[int], set[int]]:
    """Pair equal events of two orders; return the indices of events with a partner, in `yours` and in `expected`.

    Clearing the gradients at the end of a call is paired with clearing them at its start.
    """
    matcher = SequenceMatcher(a=[_key(e) for e in yours], b=[_key(e) for e in expected], autojunk=False)
    paired_yours: set[int] = set()
    paired_expected: set[int] = set()
    for block in matcher.get_matching_blocks():
        paired_yours.update(range(block.a, block.a + block.size))
        paired_expected.update(range(block.b, block.b + block.size))
    at_end = _clears_after_last_step(yours) - paired_yours
    at_start = _clears_before_backward(expected) - paired_expected
    if at_end:
        # `at_start` is empty if the learner clears at the start, too. Clearing twice is harmless, so that the clears at
        # the end count as paired all the same.
        paired_yours |= at_end
        paired_expected |= at_start
    return paired_yours, paired_expected


def _with_clears_at_end(expected: list[Event], yours: list[Event]) -> list[Event]:
    """Return the solution's events with those `zero_grad` that come before the first `backward` moved to the end.

    They are moved only behind the last `step` if more of the learner's events have a partner then. That is so if the
    learner clears before `scheduler.step()`.
    """
    at_start = _clears_before_backward(expected)
    clears = [expected[i] for i in sorted(at_start)]
    others = [event for i, event in enumerate(expected) if i not in at_start]
    behind_step = max((i + 1 for i, e in enumerate(others) if e.kind == "step"), default=len(others))
    orders = ([*others, *clears], [*others[:behind_step], *clears, *others[behind_step:]])
    return max(orders, key=lambda order: len(_pair(yours, order)[0]))


def _clears_after_last_step(events: list[Event]) -> set[int]:
    """Return the indices of `zero_grad` events after the last `step`; empty without a `step`."""
    steps = [i for i, e in enumerate(events) if e.kind == "step"]
    return {i for i, e in enumerate(events) if e.kind == "zero_grad" and i > steps[-1]} if steps else set()


def _clears_before_backward(events: list[Event]) -> set[int]:
    """Return the indices of `zero_grad` events before the first `backward`; empty without a `backward`."""
    backwards = [i for i, e in enumerate(events) if e.kind == "backward"]
    return (
        {i for i, e in enumerate(events) if e.kind == "zero_grad" and i < backwards[0]}
        if backwards
        else set()
    )


def _excerpt(
    events: list[Event], paired: set[int], update: int | None, *, with_lines: bool
) -> tuple[Moment, ...]:
    """Return at most a dozen of a call's events as moments.

    Args:
        events: the events in the order in which they are drawn.
        paired: indices of the events that have a partner in the other order.
        update: number of the first wrong update: the excerpt begins with the first event after the update before it.
            None if no update is wrong: the excerpt surrounds the first event without a partner.
        with_lines: False for the solution's events, whose line numbers mean nothing in the learner's file.
    """
    moments = [_moment(e, i not in paired, with_line=with_lines) for i, e in enumerate(events)]
    if update is not None:
        start = next((i for i, e in enumerate(events) if e.state >= update - 1), 0)
    else:
        first_unpaired = next((i for i in range(len(events)) if i not in paired), 0)
        start = max(0, first_unpaired - _MAX_MOMENTS // 2)
    return tuple(moments[start : start + _MAX_MOMENTS])


def _call_to_show(run: Run, solution: Run, update: int | None) -> int:
    """Return the call, counted from 0, that makes the wrong update; else the first whose orders differ; else 0.

    An update that the learner's run lacks is looked up in the solution's.
    """
    if update is not None:
        for candidate in (run, solution):
            call = _call_of_update(candidate, update)
            if call is not None:
                return call
    # The calls that have events, not all numbers up to the highest: a forged trace may claim any number.
    for call in sorted({e.call for e in (*run.events, *solution.events)}):
        yours, expected = _orders_in_call(run, solution, call)
        paired_yours, paired_expected = _pair(yours, expected)
        if len(paired_yours) < len(yours) or len(paired_expected) < len(expected):
            return call
    return 0


def _call_of_update(run: Run, update: int) -> int | None:
    """Return the call, counted from 0, whose `step` makes an update; None if the run has no such update or `step`."""
    if update >= len(run.arrays.get("theta", ())):
        return None
    return next((e.call for e in run.events if e.kind == "step" and e.state == update - 1), None)


def _key(event: Event) -> tuple[str, int | None]:
    """Return what two events must have in common to be paired."""
    return event.kind, event.batch


def _moment(event: Event, differs: bool, *, with_line: bool) -> Moment:
    """Return an event as it is drawn, its batch counted from 1."""
    batch_number = None if event.batch is None else event.batch + 1
    return Moment(event.kind, event.line if with_line else None, batch_number, differs)
