"""Compare the order of the learner's events with the solution's, call by call.

Feedback draws the events of one call as two timelines, the learner's and the solution's: `evidence` asks for them, and
`report/timeline.py` puts them in columns. Equal events are paired; those without a partner are shown as differences.
`locate` asks for the learner's events without a partner.

Clearing the gradients at the end of a call is as right as clearing them at its start, so the two are paired, unless the
model had gradients before the call. Clearing them before a forward pass is paired with clearing them after it, too. A
learner's clear that finds no gradients changes nothing; it is drawn only beside a partner. Another order that is as
right is paired in `_pair_events`, and if the solution is to be drawn in the learner's order, it is reordered in
`_events_to_draw`.

Example: the solution does `zero_grad forward backward step`, the learner `forward backward scheduler step zero_grad`.
All events are paired but `scheduler`. On the solution's timeline `zero_grad` is drawn at the end, too.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import NamedTuple

from grader.course.feedback import Moment
from grader.observe.trace import Event, Run

_MAX_MOMENTS = 12
"""Maximum number of events on a timeline: two updates with all their events, and few enough to read at a glance."""
_MAX_COMPARISONS = 100_000
"""Maximum number of pairs of events that are compared to pair as many as possible: tens of milliseconds."""

_STEPS = frozenset({"step", "second_step"})
"""Kinds of drawn events that update the parameters."""

_Key = tuple[str, int | None]
"""What two events must have in common to be paired: kind and batch."""


class Timelines(NamedTuple):
    """The events of one call as they are drawn, at most `_MAX_MOMENTS` of each program."""

    yours: tuple[Moment, ...] = ()
    """The learner's; lines are counted in the program."""
    right: tuple[Moment, ...] = ()
    """The solution's, without lines."""

    @property
    def differ(self) -> bool:
        """True if an event has no partner on the other timeline."""
        return any(moment.differs for moment in (*self.yours, *self.right))


class _Events(NamedTuple):
    """The events of one call in the order in which they are drawn."""

    learner: list[Event]
    solution: list[Event]
    clears_given: bool
    """True if the solution clears gradients that were there before the call (`_clears_given_gradients`)."""


class _Paired(NamedTuple):
    """The indices of the events that have a partner."""

    learner: set[int]
    """Indices in the learner's list."""
    solution: set[int]
    """Indices in the solution's list."""


class _Starts(NamedTuple):
    """The indices of the events at which the timelines begin."""

    learner: int
    solution: int


def timelines(run: Run, solution: Run, update: int | None) -> Timelines:
    """Return the timelines of one call: the one that makes the first wrong update, or else the first that differs.

    Args:
        run: the learner's run.
        solution: the solution's run.
        update: number of the first wrong update, from 1; 0 if the parameters are wrong from the start; None if they are
            never wrong.
    """
    drawn = _events_to_draw(run, solution, _call_to_show(run, solution, update))
    learner_events, solution_events, _ = drawn
    learner_paired, solution_paired = _pair_events(*drawn)
    starts = _starts_of_update(learner_events, solution_events, update) or (
        _starts_before_difference(learner_events, learner_paired, solution_events, solution_paired)
    )
    return Timelines(
        _excerpt(learner_events, learner_paired, starts.learner, with_lines=True),
        _excerpt(solution_events, solution_paired, starts.solution, with_lines=False),
    )


def unpaired_events(run: Run, solution: Run) -> list[Event]:
    """Return the learner's events, of all calls, that have no partner among the solution's events of the same call."""
    unpaired: list[Event] = []
    for call in sorted({event.call for event in run.events}):
        learner_events = [event for event in run.events if event.call == call]
        solution_events = [event for event in solution.events if event.call == call]
        paired = _pair_events(learner_events, _order_clears_as_learner(solution_events, learner_events))
        unpaired += [event for i, event in enumerate(learner_events) if i not in paired.learner]
    return unpaired


def _call_to_show(run: Run, solution: Run, update: int | None) -> int:
    """Return the index of the call that makes the wrong update.

    An update that the learner's run lacks is looked up in the solution's. Without such a call, return the index of the
    first call whose events differ, and 0 if there is none either.
    """
    if update is not None:
        for candidate in (run, solution):
            call = call_of_update(candidate, update)
            if call is not None:
                return call
    # The calls that have events, not all numbers up to the highest: a forged trace may claim a high one.
    for call in sorted({event.call for event in (*run.events, *solution.events)}):
        learner_events, solution_events, clears_given = _events_to_draw(run, solution, call)
        learner_paired, solution_paired = _pair_events(learner_events, solution_events, clears_given)
        if len(learner_paired) < len(learner_events) or len(solution_paired) < len(solution_events):
            return call
    return 0


def call_of_update(run: Run, update: int) -> int | None:
    """Return the index of the call whose `step` makes an update; None if the run lacks the update or its `step`."""
    if update >= len(run.arrays.get("theta", ())):
        return None
    # Update 1 leads from state 0 to state 1, so its `step` is recorded while the state is 0.
    steps = (event for event in run.events if event.kind == "step" and event.state == update - 1)
    return next((step.call for step in steps), None)


def _events_to_draw(run: Run, solution: Run, call: int) -> _Events:
    """Return the events of a call that are drawn.

    Four kinds of events are left out: a `gradient`, because the backward pass that causes it is drawn itself, a
    `zero_grad` right behind another one, because it changes nothing, a learner's without a partner that found no
    gradients, for the same reason, and the `step` that a `second_step` makes. If the learner clears the gradients only
    at the end of the call, the solution's are drawn there, too, unless the model had gradients before the call.
    """
    learner_events, solution_events = (
        _without_repeated_clears(
            _without_caused_steps(
                [event for event in one.events if event.call == call and event.kind != "gradient"]
            )
        )
        for one in (run, solution)
    )
    clears_given = _clears_given_gradients(solution, call)
    if (
        _clears_after_last_step(learner_events)
        and not _clears_before_backward(learner_events)
        and not clears_given
    ):
        solution_events = _without_repeated_clears(_move_clears_to_end(solution_events, learner_events))
    ordered = _without_repeated_clears(_order_clears_as_learner(solution_events, learner_events))
    return _without_idle_clears(_Events(learner_events, ordered, clears_given))


def _clears_given_gradients(solution: Run, call: int) -> bool:
    """Return True if the solution clears, before the call's first `backward`, gradients that it did not leave itself.

    They were there before the call, so clearing at its end would have been too late. If the solution may have left
    them in the call before, because it did not clear after its last step there, clearing there is as right.
    """
    events, before = ([event for event in solution.events if event.call == one] for one in (call, call - 1))
    found = any(events[i].gradients == "set" for i in _clears_before_backward(events))
    return found and (not before or bool(_clears_after_last_step(before)))


def _without_repeated_clears(events: list[Event]) -> list[Event]:
    """Return the events without each `zero_grad` that follows another one directly."""
    return _without_followers(events, "zero_grad", "zero_grad")


def _without_idle_clears(events: _Events) -> _Events:
    """Return the events without each `zero_grad` of the learner's that has no partner and found every `.grad` None.

    The solution's stay: a learner who never clears is to see where it belongs.
    """
    paired = _pair_events(*events).learner
    return events._replace(
        learner=[
            event
            for i, event in enumerate(events.learner)
            if i in paired or event.kind != "zero_grad" or event.gradients != "none"
        ]
    )


def _without_caused_steps(events: list[Event]) -> list[Event]:
    """Return the events without each `step` right behind a `second_step`, which calls it: it is drawn itself."""
    return _without_followers(events, "step", "second_step")


def _without_followers(events: list[Event], kind: str, followed: str) -> list[Event]:
    """Return the events without each of a kind that follows one of the kind `followed` directly."""
    return [
        event
        for before, event in zip([None, *events], events, strict=False)
        if event.kind != kind or before is None or before.kind != followed
    ]


def _move_clears_to_end(solution_events: list[Event], learner_events: list[Event]) -> list[Event]:
    """Return the solution's events with each `zero_grad` before the first `backward` moved to the end.

    The end is that of the call, or the place behind the last `step` if more of the learner's events have a partner
    then: the learner may clear between `opt.step()` and `scheduler.step()`.
    """
    at_start = _clears_before_backward(solution_events)
    clears = [solution_events[i] for i in sorted(at_start)]
    others = [event for i, event in enumerate(solution_events) if i not in at_start]
    after_step = max((i + 1 for i, event in enumerate(others) if event.kind in _STEPS), default=len(others))
    orders = ([*others, *clears], [*others[:after_step], *clears, *others[after_step:]])
    return max(orders, key=lambda order: len(_pair_events(learner_events, order).learner))


def _order_clears_as_learner(solution_events: list[Event], learner_events: list[Event]) -> list[Event]:
    """Return the solution's events with each `zero_grad` before or after the `forward` beside it, as in the learner's.

    No gradient is read or written in between, so either order is right. A solution that clears before a forward pass
    and after it is `forward zero_grad zero_grad` beside a learner who only clears after it.
    """
    moved: list[Event] = []
    pairs_of_pieces = zip_longest(
        _split_at_fixed_events(solution_events),
        _split_at_fixed_events(learner_events),
        fillvalue=list[Event](),
    )
    for piece, learner_piece in pairs_of_pieces:
        kinds, learner_kinds = ([event.kind for event in one] for one in (piece, learner_piece))
        if Counter(learner_kinds) == Counter(kinds):
            events_of_kind = {
                kind: iter([event for event in piece if event.kind == kind]) for kind in set(learner_kinds)
            }
            moved += [next(events_of_kind[kind]) for kind in learner_kinds]
        elif learner_kinds[:1] == ["forward"] and kinds == ["zero_grad", "forward", "zero_grad"]:
            moved += [piece[1], piece[0], piece[2]]
        else:
            moved += piece
    return moved


def _split_at_fixed_events(events: list[Event]) -> list[list[Event]]:
    """Return the events in pieces that end after an event whose place is fixed: all but `zero_grad` and `forward`."""
    pieces: list[list[Event]] = [[]]
    for event in events:
        pieces[-1].append(event)
        if event.kind not in {"zero_grad", "forward"}:
            pieces.append([])
    return pieces


def _pair_events(
    learner_events: list[Event], solution_events: list[Event], clears_given: bool = False
) -> _Paired:
    """Return the indices of the events that have a partner.

    Partners have the same kind and batch, and stand in the same order on both sides. In addition, clearing the
    gradients at the end of a call is paired with clearing them at its start, unless `clears_given` (see `_Events`).
    """
    learner_paired, solution_paired = _pair_in_order(
        [_pairing_key(event) for event in learner_events], [_pairing_key(event) for event in solution_events]
    )
    at_end = _clears_after_last_step(learner_events) - learner_paired
    at_start = _clears_before_backward(solution_events) - solution_paired
    if at_end:
        # A learner who clears at the start, too, leaves `at_start` empty. Clearing twice is harmless, so the clears at
        # the end count as paired all the same.
        learner_paired |= at_end
        if not clears_given:
            solution_paired |= at_start
    return _Paired(learner_paired, solution_paired)


def _pair_in_order(learner: Sequence[_Key], solution: Sequence[_Key]) -> _Paired:
    """Return the indices of the keys that have an equal partner in the same order.

    The longest equal stretches are paired first, because they are read most easily. If that leaves keys without a
    partner that could have one, as many as possible are paired instead.
    """
    blocks = SequenceMatcher(a=learner, b=solution, autojunk=False).get_matching_blocks()
    pairs = [(block.a + i, block.b + i) for block in blocks for i in range(block.size)]
    # The bound is for traces that are forged or very long.
    is_short_enough = len(learner) * len(solution) <= _MAX_COMPARISONS
    if len(pairs) < min(len(learner), len(solution)) and is_short_enough:
        pairs = max(pairs, _longest_common_subsequence(learner, solution), key=len)
    return _Paired({i for i, _ in pairs}, {j for _, j in pairs})


def _longest_common_subsequence(one: Sequence[_Key], other: Sequence[_Key]) -> list[tuple[int, int]]:
    """Return the index pairs of a longest common subsequence, by the usual dynamic programming from the end."""
    # lengths[i][j]: length of a longest common subsequence of one[i:] and other[j:].
    lengths = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i in reversed(range(len(one))):
        for j in reversed(range(len(other))):
            is_equal = one[i] == other[j]
            lengths[i][j] = (
                lengths[i + 1][j + 1] + 1 if is_equal else max(lengths[i + 1][j], lengths[i][j + 1])
            )
    pairs, i, j = [], 0, 0
    while i < len(one) and j < len(other):
        if one[i] == other[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif lengths[i + 1][j] >= lengths[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs


def _pairing_key(event: Event) -> _Key:
    """Return kind and batch of an event."""
    return event.kind, event.batch


def _clears_after_last_step(events: list[Event]) -> set[int]:
    """Return the indices of `zero_grad` events after the last `step`; empty without a `step`."""
    steps = [i for i, event in enumerate(events) if event.kind in _STEPS]
    if not steps:
        return set()
    return {i for i, event in enumerate(events) if event.kind == "zero_grad" and i > steps[-1]}


def _clears_before_backward(events: list[Event]) -> set[int]:
    """Return the indices of `zero_grad` events before the first `backward`; empty without a `backward`."""
    backwards = [i for i, event in enumerate(events) if event.kind == "backward"]
    if not backwards:
        return set()
    return {i for i, event in enumerate(events) if event.kind == "zero_grad" and i < backwards[0]}


def _starts_of_update(
    learner_events: list[Event], solution_events: list[Event], update: int | None
) -> _Starts | None:
    """Return the index of each side's first event after the update before `update`; None if a side has none."""
    if update is None:
        return None
    learner_start, solution_start = (
        next((i for i, event in enumerate(events) if event.state >= update - 1), None)
        for events in (learner_events, solution_events)
    )
    if learner_start is None or solution_start is None:
        return None
    return _Starts(learner_start, solution_start)


def _starts_before_difference(
    learner_events: list[Event],
    learner_paired: set[int],
    solution_events: list[Event],
    solution_paired: set[int],
) -> _Starts:
    """Return the indices at which to begin so that both timelines surround the first event without a partner.

    Both begin with partners of each other, or with the first events.
    """
    equal_count = min(
        next((i for i in range(len(events)) if i not in paired), len(events))
        for events, paired in ((learner_events, learner_paired), (solution_events, solution_paired))
    )
    skipped = max(0, equal_count - _MAX_MOMENTS // 2)
    # Before the first difference, the n-th event of one side is the partner of the n-th of the other.
    return _Starts(skipped, skipped)


def _excerpt(events: list[Event], paired: set[int], start: int, *, with_lines: bool) -> tuple[Moment, ...]:
    """Return the part of a call's events to draw, at most `_MAX_MOMENTS`, as moments.

    Args:
        events: the call's events in the order in which they are drawn.
        paired: indices of the events that have a partner on the other timeline.
        start: index of the first event to draw.
        with_lines: False for the solution's events, whose line numbers mean nothing in the learner's file.
    """
    moments = [_as_moment(event, i not in paired, with_line=with_lines) for i, event in enumerate(events)]
    drawn = moments[start : start + _MAX_MOMENTS]
    if drawn and start > 0:
        drawn[0] = replace(drawn[0], goes_before=True)
    if drawn and start + len(drawn) < len(moments):
        drawn[-1] = replace(drawn[-1], goes_on=True)
    return tuple(drawn)


def _as_moment(event: Event, differs: bool, *, with_line: bool) -> Moment:
    """Return an event as it is drawn; its batch is counted from 0 in the run, but from 1 for the learner."""
    batch_number = None if event.batch is None else event.batch + 1
    return Moment(event.kind, event.line if with_line else None, batch_number, differs)
