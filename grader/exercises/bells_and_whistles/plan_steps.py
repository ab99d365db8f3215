"""Driver of `plan_steps`, which returns the numbers of all updates and of warm-up updates.

Scenarios isolate the total, with and without accumulation, the rounding of the warm-up, very short trainings, the
allowed ratios, and types. They ask for plans of many sizes, because rounding mistakes show at some sizes only.
"""

import math
from typing import Any

from grader.exercises.fixtures.returned import type_witness
from grader.observe.play import Draw, Driver, Stage
from grader.observe.trace import Fact
from grader.observe.values import as_number, items_of, type_name
from grader.observe.wording import called_with

driver = Driver("plan_steps")

_Plan = tuple[int, int, float, int]
"""(n_batches, n_epochs, warmup_ratio, accum_steps)."""

_TOTAL, _WARMUP = "전체 스텝(두 값 가운데 큰 것)", "워밍업(두 값 가운데 작은 것)"
_Range = tuple[float, float]
"""Lowest and highest value."""
_ROUNDS_UP: _Range = (0.6, 0.9)
_ROUNDS_DOWN: _Range = (0.1, 0.4)
_BELOW_HALF: _Range = (0.42, 0.49)
_ABOVE_HALF: _Range = (0.51, 0.58)
"""Ranges of the fractional part of the warm-up's steps before rounding. None holds an exact half: for 2.5, both 2 and 3
are right."""
_RATIOS: _Range = (0.02, 0.19)
_LARGE_RATIOS: _Range = (0.1, 0.19)
"""Ratios so large that one update more or less makes the warm-up's steps round the other way, if their fractional part
is in `_BELOW_HALF` or `_ABOVE_HALF`.
"""


def _plan(draw: Draw, accum_steps: int, short: int, *, rest: _Range, ratios: _Range = _RATIOS) -> _Plan:
    """Draw a plan.

    Args:
        draw: source of its numbers.
        accum_steps: micro-batches in a whole window.
        short: micro-batches in the last window of an epoch; 0: it is a whole one.
        rest: range of the fractional part of the warm-up's steps before rounding.
        ratios: range of the warm-up's ratio.
    """
    while True:
        windows, epochs = draw.whole(8, 30), draw.whole(2, 5)
        ratio = round(draw.real(*ratios), 3)
        n_batches = windows * accum_steps + short
        windows_with_short_one = windows if short == 0 else windows + 1
        if rest[0] <= math.modf(windows_with_short_one * epochs * ratio)[0] <= rest[1]:
            return n_batches, epochs, ratio, accum_steps


def _planned(stage: Stage, plan: _Plan) -> Any:
    """Call the student's function with a plan; `accum_steps` is omitted if it is 1."""
    n_batches, n_epochs, ratio, accum_steps = plan
    extra = {} if accum_steps == 1 else {"accum_steps": accum_steps}
    return stage.recorder.call(stage.student("plan_steps"), n_batches, n_epochs, warmup_ratio=ratio, **extra)


def _record_plan(stage: Stage, plan: _Plan, what: str) -> None:
    """Record one of the two returned numbers, `_TOTAL` or `_WARMUP`, as a fact named after the call.

    Their order is judged in the scenario `types` only.
    """
    n_batches, n_epochs, ratio, accum_steps = plan
    accum = "" if accum_steps == 1 else f", accum_steps={accum_steps}"
    text = f"plan_steps({n_batches}, {n_epochs}, warmup_ratio={ratio}{accum})"
    stage.recorder.fact(f"{text}의 {what}", _total_or_warmup(_planned(stage, plan), what))


def _batches_for_whole_warmup(draw: Draw, ratio: float) -> int:
    """Draw a number of batches for which one epoch's warm-up is a whole number of steps, also in floating point, so
    that rounding does not matter.
    """
    while True:
        batches = 1000 * draw.whole(2, 60)
        if (batches * ratio).is_integer():
            return batches


def _total_or_warmup(value: Any, what: str) -> Fact:
    """Return one number of a returned pair: the larger one as `_TOTAL`, the smaller one as `_WARMUP`.

    Anything but a pair of numbers gives a list of what was found instead.
    """
    items = list(value)[:10] if isinstance(value, tuple | list) else [value]
    numbers = [as_number(item) for item in items]
    if len(numbers) != 2 or any(math.isnan(number) for number in numbers):
        return [_number(item) for item in items]
    return _number(max(numbers) if what == _TOTAL else min(numbers))


def _number(value: Any) -> Fact:
    """Return a value as a number for a fact, or the name of its type if it is none."""
    number = as_number(value)
    if math.isnan(number):
        return f"<{type_name(value)}>"
    return int(number) if number.is_integer() else number


@driver.scenario("plain", "누적하지 않는 학습")
def _plain_plans(stage: Stage) -> None:
    """Trainings with one update for each batch."""
    draw = stage.env.draw("plans")
    for rest in (_ROUNDS_UP, _ROUNDS_DOWN):
        _record_plan(stage, _plan(draw, 1, 0, rest=rest), _TOTAL)


@driver.scenario("accum", "그레이디언트 누적")
def _accumulated_plans(stage: Stage) -> None:
    """Whole windows only; then a last window less than half full, and one more than half full."""
    draw = stage.env.draw("plans")
    for accum_steps, short, rest in ((4, 0, _ROUNDS_UP), (5, 1, _ROUNDS_DOWN), (8, 6, _ROUNDS_UP)):
        _record_plan(stage, _plan(draw, accum_steps, short, rest=rest), _TOTAL)


@driver.scenario("rounding", "워밍업의 반올림", check="short")
def _rounded_plans(stage: Stage) -> None:
    """Trainings without accumulation, of which only the warm-up is recorded.

    In the last two, the number of warm-up steps before rounding is so close to a half that one update more, or one
    less, in the total would give another warm-up.
    """
    draw = stage.env.draw("plans")
    for rest in (_ROUNDS_UP, _ROUNDS_DOWN, _ROUNDS_UP):
        _record_plan(stage, _plan(draw, 1, 0, rest=rest), _WARMUP)
    for rest in (_BELOW_HALF, _ABOVE_HALF):
        _record_plan(stage, _plan(draw, 1, 0, rest=rest, ratios=_LARGE_RATIOS), _WARMUP)


@driver.scenario("accumulated-warmup", "누적할 때의 워밍업", check="short")
def _accumulated_warmup(stage: Stage) -> None:
    """The warm-up is a share of the updates, not of the micro-batches: a short window counts as a whole update."""
    draw = stage.env.draw("plans")
    recorded = 0
    while recorded < 2:
        plan = _plan(draw, 8, 1, rest=_ROUNDS_UP)
        n_batches, n_epochs, ratio, accum_steps = plan
        right = round(math.ceil(n_batches / accum_steps) * n_epochs * ratio)
        from_micro_batches = round(n_batches * n_epochs * ratio / accum_steps)
        if from_micro_batches < right:
            _record_plan(stage, plan, _WARMUP)
            recorded += 1


@driver.scenario("short", "아주 짧은 학습")
def _short_plans(stage: Stage) -> None:
    """A training so short that the ratio gives less than one step of warm-up."""
    draw = stage.env.draw("plans")
    _record_plan(stage, (draw.whole(20, 40), 2, 0.004, 1), _WARMUP)


@driver.scenario("one-window", "모자란 구간 하나뿐인 에폭", check="accum")
def _one_window(stage: Stage) -> None:
    """Epochs that consist of one short window: it counts as a whole update."""
    draw = stage.env.draw("plans")
    _record_plan(stage, (draw.whole(2, 3), draw.whole(2, 4), 0.02, 8), _TOTAL)


@driver.scenario("ratio", "비율의 범위")
def _ratios(stage: Stage) -> None:
    """Both ends of the allowed range are accepted; values beyond them are refused."""
    draw = stage.env.draw("plans")
    for ratio in (0.001, 0.2):
        name = called_with("warmup_ratio", ratio)
        value = _planned(stage, (_batches_for_whole_warmup(draw, ratio), 1, ratio, 1))
        smaller = min((as_number(item) for item in items_of(value)), default=math.nan)
        stage.recorder.claim(name, "None" if value is None else "받아들임", [smaller])
    for ratio in (0.0, 0.0004, 0.25, 10.0, -0.1):
        student = stage.student("plan_steps")
        stage.recorder.record_raised(
            ValueError, called_with("warmup_ratio", ratio), student, 100, 2, warmup_ratio=ratio
        )


@driver.scenario("types", "반환 타입")
def _plan_types(stage: Stage) -> None:
    """The type of the pair and of its numbers, and their order: the total comes first."""
    draw = stage.env.draw("plans")
    value = _planned(stage, _plan(draw, 4, 1, rest=_ROUNDS_UP))
    items = list(value)[:10] if isinstance(value, tuple | list) else []
    kind = "tuple" if isinstance(value, tuple) else type_name(value)  # a named tuple is a tuple too
    stage.recorder.fact("반환 타입", [kind, *(type_name(item) for item in items)])
    if len(items) == 2:
        larger = "첫 번째" if as_number(items[0]) >= as_number(items[1]) else "두 번째"
        stage.recorder.fact("두 값 가운데 큰 것", larger)
    again = items_of(_planned(stage, (_batches_for_whole_warmup(draw, 0.125), 1, 0.125, 1)))
    stage.recorder.array("반환 타입", type_witness(int, again[:2], as_number(again[1])) if again[1:] else [])
