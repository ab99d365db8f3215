"""Driver of `plan_steps`, which returns the number of all updates and the number of warm-up updates.

Promises of the exercise, and the scenarios that check them:
    the total counts updates, not micro-batches: `plain`, `accum`; a short last window of an epoch is an update too:
        `accum`, `one-window`
    the warm-up is a rounded share of the total: `rounding`, `accumulated-warmup`; at least one update: `short`
    a ratio from 0.001 to 0.2 is accepted, any other one refused: `ratio`
    the return value is a tuple of two ints, the total first: `types`

Scenarios ask for plans of several sizes, because rounding mistakes show at some sizes only.

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

import math
from typing import Any, NamedTuple

from grader.exercises.fixtures.returned import type_witness
from grader.observe.play import Draw, Driver, Stage
from grader.observe.trace import Fact
from grader.observe.values import as_number, items_of, type_name
from grader.observe.wording import called_with

driver = Driver("plan_steps")

_Range = tuple[float, float]
"""Lowest and highest value."""

# Ranges of the fractional part of the warm-up's number of updates before rounding. None holds an exact half: for 2.5,
# both 2 and 3 are right.
_ROUNDS_UP: _Range = (0.6, 0.9)
"""Well above a half."""
_ROUNDS_DOWN: _Range = (0.1, 0.4)
"""Well below a half."""
_BELOW_HALF: _Range = (0.42, 0.49)
"""Just below a half."""
_ABOVE_HALF: _Range = (0.51, 0.58)
"""Just above a half."""

_RATIOS: _Range = (0.02, 0.19)
"""Warm-up ratios from which `_draw_plan` draws by default: inside the allowed range of 0.001 to 0.2."""
_LARGE_RATIOS: _Range = (0.1, 0.19)
"""Ratios so large that a warm-up in `_BELOW_HALF` is rounded up if the total is one update too large, and one in
`_ABOVE_HALF` is rounded down if it is one too small. For example, 0.45 + 0.1 = 0.55.
"""

_TOTAL = "전체 스텝 수"
_WARMUP = "워밍업 스텝 수"
"""Korean names of the two returned numbers, told apart by size: their order is judged in the scenario `types` only."""

_MAX_ITEMS = 10
"""Maximum number of returned items that are recorded: more than two already say that the return value is wrong."""


class _Plan(NamedTuple):
    """The arguments of one call."""

    n_batches: int
    n_epochs: int
    warmup_ratio: float
    accum_steps: int


def _draw_plan(
    draw: Draw, accum_steps: int, last_window: int, *, fraction: _Range, ratios: _Range = _RATIOS
) -> _Plan:
    """Draw plans until one has a warm-up with the wanted fractional part, and return it.

    Args:
        draw: source of its numbers.
        accum_steps: micro-batches in a whole window; 1: no accumulation.
        last_window: micro-batches in the short last window of an epoch; 0 if there is none.
        fraction: range of the fractional part of the warm-up's number of updates before rounding.
        ratios: range of the warm-up's ratio.
    """
    while True:
        whole_windows, n_epochs = draw.whole(8, 30), draw.whole(2, 5)
        ratio = round(draw.real(*ratios), 3)
        n_batches = whole_windows * accum_steps + last_window
        windows = whole_windows if last_window == 0 else whole_windows + 1
        if fraction[0] <= math.modf(windows * n_epochs * ratio)[0] <= fraction[1]:
            return _Plan(n_batches, n_epochs, ratio, accum_steps)


def _draw_batches_for_whole_warmup(draw: Draw, ratio: float) -> int:
    """Draw a number of batches whose product with `ratio` is a whole number, exact in floating point, too."""
    while True:
        n_batches = 1000 * draw.whole(2, 60)
        if (n_batches * ratio).is_integer():
            return n_batches


def _call(stage: Stage, plan: _Plan) -> Any:
    """Call the learner's function with a plan; `accum_steps` is left out if it is 1, its default."""
    optional = {} if plan.accum_steps == 1 else {"accum_steps": plan.accum_steps}
    student = stage.student("plan_steps")
    return stage.recorder.call(
        student, plan.n_batches, plan.n_epochs, warmup_ratio=plan.warmup_ratio, **optional
    )


def _record(stage: Stage, plan: _Plan, which: str) -> None:
    """Record one of the two returned numbers as a fact named after the call; `which` is `_TOTAL` or `_WARMUP`."""
    accum = "" if plan.accum_steps == 1 else f", accum_steps={plan.accum_steps}"
    call = f"plan_steps({plan.n_batches}, {plan.n_epochs}, warmup_ratio={plan.warmup_ratio}{accum})"
    stage.recorder.fact(f"{call}의 {which}", _total_or_warmup(_call(stage, plan), which))


def _total_or_warmup(returned: Any, which: str) -> Fact:
    """Return one number of a returned pair: the larger one for `_TOTAL`, the smaller one for `_WARMUP`.

    If the learner's function returned anything but a pair of numbers, return a list of what it returned.
    """
    items = list(returned)[:_MAX_ITEMS] if isinstance(returned, tuple | list) else [returned]
    numbers = [as_number(item) for item in items]
    if len(numbers) != 2 or any(math.isnan(number) for number in numbers):
        return [_number_or_type(item) for item in items]
    return _number_or_type(max(numbers) if which == _TOTAL else min(numbers))


def _number_or_type(value: Any) -> Fact:
    """Return a value as a number, an int if it is a whole one; or the name of its type if it is no number."""
    number = as_number(value)
    if math.isnan(number):
        return f"<{type_name(value)}>"
    return int(number) if number.is_integer() else number


@driver.scenario("plain", "누적하지 않는 학습")
def _plain(stage: Stage) -> None:
    """Plan trainings with one update for each batch.

    A wrong program adds a window that is not there, or forgets the epochs.
    """
    draw = stage.env.draw("plans")
    for fraction in (_ROUNDS_UP, _ROUNDS_DOWN):
        _record(stage, _draw_plan(draw, 1, 0, fraction=fraction), _TOTAL)


@driver.scenario("accum", "그레이디언트 누적")
def _accum(stage: Stage) -> None:
    """Plan with whole windows only; with a last window less than half full; with one more than half full.

    A wrong program counts micro-batches, drops or rounds the short window, lets windows cross epochs, or returns a
    fraction.
    """
    draw = stage.env.draw("plans")
    windows = ((4, 0, _ROUNDS_UP), (5, 1, _ROUNDS_DOWN), (8, 6, _ROUNDS_UP))
    for accum_steps, last_window, fraction in windows:
        _record(stage, _draw_plan(draw, accum_steps, last_window, fraction=fraction), _TOTAL)


@driver.scenario("rounding", "워밍업의 반올림", check="short")
def _rounding(stage: Stage) -> None:
    """Plan trainings without accumulation, of which only the warm-up is recorded.

    A wrong program rounds down or up, rounds for each epoch, or takes the share of a total that is off by one. The
    last two plans are for that: the fractional part of their warm-up is close to a half.
    """
    draw = stage.env.draw("plans")
    for fraction in (_ROUNDS_UP, _ROUNDS_DOWN, _ROUNDS_UP):
        _record(stage, _draw_plan(draw, 1, 0, fraction=fraction), _WARMUP)
    for fraction in (_BELOW_HALF, _ABOVE_HALF):
        _record(stage, _draw_plan(draw, 1, 0, fraction=fraction, ratios=_LARGE_RATIOS), _WARMUP)


@driver.scenario("accumulated-warmup", "누적할 때의 워밍업", check="short")
def _accumulated_warmup(stage: Stage) -> None:
    """Make two plans with accumulation and a last window of one micro-batch, of which only the warm-up is recorded.

    A wrong program takes the share of the micro-batches, where the short window is no whole update. Plans where that
    gives the right number all the same are not used.
    """
    draw = stage.env.draw("plans")
    recorded = 0
    while recorded < 2:
        plan = _draw_plan(draw, 8, 1, fraction=_ROUNDS_UP)
        unrounded_windows = plan.n_batches / plan.accum_steps
        right = round(math.ceil(unrounded_windows) * plan.n_epochs * plan.warmup_ratio)
        wrong = round(unrounded_windows * plan.n_epochs * plan.warmup_ratio)
        if wrong < right:
            _record(stage, plan, _WARMUP)
            recorded += 1


@driver.scenario("short", "아주 짧은 학습")
def _short(stage: Stage) -> None:
    """Plan a training so short that the ratio gives less than half an update of warm-up.

    A wrong program returns a warm-up of 0 updates.
    """
    draw = stage.env.draw("plans")
    _record(stage, _Plan(draw.whole(20, 40), 2, 0.004, 1), _WARMUP)


@driver.scenario("one-window", "모자란 구간 하나뿐인 에폭", check="accum")
def _one_window(stage: Stage) -> None:
    """Plan epochs that consist of one short window.

    A wrong program drops the window, so that there are no updates at all, or joins the epochs.
    """
    draw = stage.env.draw("plans")
    _record(stage, _Plan(draw.whole(2, 3), draw.whole(2, 4), 0.02, 8), _TOTAL)


@driver.scenario("ratio", "비율의 범위")
def _ratio(stage: Stage) -> None:
    """Plan with both ends of the allowed range, then with ratios beyond them.

    A wrong program refuses the ends, accepts a ratio beyond one of them, or raises another exception than ValueError.
    """
    draw = stage.env.draw("plans")
    for ratio in (0.001, 0.2):
        plan = _Plan(_draw_batches_for_whole_warmup(draw, ratio), 1, ratio, 1)
        returned = _call(stage, plan)
        outcome = "None" if returned is None else "받아들임"
        warmup = min((as_number(item) for item in items_of(returned)), default=math.nan)
        stage.recorder.claim(called_with("warmup_ratio", ratio), outcome, [warmup])
    for ratio in (0.0, 0.0004, 0.25, 10.0, -0.1):
        student = stage.student("plan_steps")
        stage.recorder.record_raised(
            ValueError, called_with("warmup_ratio", ratio), student, 100, 2, warmup_ratio=ratio
        )


@driver.scenario("types", "반환 타입")
def _types(stage: Stage) -> None:
    """Record the type of the returned pair, the types of its numbers, and which of the two is larger.

    A wrong program returns the warm-up first, a list, or floats. The witness is the second number, the warm-up, of
    another plan. That needs no rounding, so that wrong rounding costs nothing here.
    """
    draw = stage.env.draw("plans")
    returned = _call(stage, _draw_plan(draw, 4, 1, fraction=_ROUNDS_UP))
    items = list(returned)[:_MAX_ITEMS] if isinstance(returned, tuple | list) else []
    stage.recorder.fact("반환 타입", [type_name(returned), *(type_name(item) for item in items)])
    if len(items) == 2:
        larger = "첫 번째" if as_number(items[0]) >= as_number(items[1]) else "두 번째"
        stage.recorder.fact("두 값 가운데 큰 것", larger)
    plan = _Plan(_draw_batches_for_whole_warmup(draw, 0.125), 1, 0.125, 1)
    numbers = items_of(_call(stage, plan))
    witness = type_witness(int, numbers[:2], as_number(numbers[1])) if numbers[1:] else []
    stage.recorder.array("반환 타입", witness)
