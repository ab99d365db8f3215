"""Driver of `plan_steps`: plans of many sizes, because rounding mistakes show at some sizes only."""

import math
from typing import Any

from grader.exercises.bells_and_whistles._draw import Draw
from grader.observe.play import Driver, Stage
from grader.observe.trace import Fact
from grader.observe.values import as_number, type_name

driver = Driver("plan_steps")

_Plan = tuple[int, int, float, int]
"""n_batches, n_epochs, warmup_ratio, accum_steps."""

_ROUNDS_UP, _ROUNDS_DOWN = (0.6, 0.9), (0.1, 0.4)


def _plan(draw: Draw, accum_steps: int, short: int, *, rest: tuple[float, float]) -> _Plan:
    """An epoch's last window holds `short` micro-batches (0: it is whole).

    The warm-up's steps, before rounding, have a fractional part within `rest`, so never an exact half: both 2 and 3
    are right for 2.5.
    """
    while True:
        windows, epochs = draw.whole(8, 30), draw.whole(2, 5)
        ratio = round(draw.real(0.02, 0.19), 3)
        n_batches = windows * accum_steps + short
        steps = (windows + (short > 0)) * epochs
        if rest[0] <= math.modf(steps * ratio)[0] <= rest[1]:
            return n_batches, epochs, ratio, accum_steps


def _planned(stage: Stage, plan: _Plan) -> Any:
    n_batches, n_epochs, ratio, accum_steps = plan
    extra = {} if accum_steps == 1 else {"accum_steps": accum_steps}
    return stage.recorder.call(stage.student("plan_steps"), n_batches, n_epochs, warmup_ratio=ratio, **extra)


def _record_plan(stage: Stage, plan: _Plan) -> None:
    """Both numbers as a fact under the call's own text."""
    n_batches, n_epochs, ratio, accum_steps = plan
    accum = "" if accum_steps == 1 else f", accum_steps={accum_steps}"
    text = f"plan_steps({n_batches}, {n_epochs}, warmup_ratio={ratio}{accum})"
    stage.recorder.fact(text, _numbers(_planned(stage, plan)))


def _numbers(value: Any) -> Fact:
    """What came back as a list of numbers, whole ones as int; a value of another kind by its type's name."""
    if not isinstance(value, tuple | list):
        return [_number(value)]
    return [_number(item) for item in list(value)[:10]]


def _number(value: Any) -> Fact:
    number = as_number(value)
    if math.isnan(number):
        return f"<{type_name(value)}>"
    return int(number) if number.is_integer() else number


@driver.scenario("plain", "누적하지 않는 학습")
def _plain_plans(stage: Stage) -> None:
    """One step for each batch."""
    draw = Draw(stage.env, "plans")
    for rest in (_ROUNDS_UP, _ROUNDS_DOWN, _ROUNDS_UP):
        _record_plan(stage, _plan(draw, 1, 0, rest=rest))


@driver.scenario("accum", "그레이디언트 누적")
def _accumulated_plans(stage: Stage) -> None:
    """Windows that are all whole; then a last window that is less than half full, and one that is more than that."""
    draw = Draw(stage.env, "plans")
    for accum_steps, short, rest in ((4, 0, _ROUNDS_UP), (5, 1, _ROUNDS_DOWN), (8, 6, _ROUNDS_UP)):
        _record_plan(stage, _plan(draw, accum_steps, short, rest=rest))


@driver.scenario("short", "아주 짧은 학습")
def _short_plans(stage: Stage) -> None:
    """So few steps that the ratio gives less than one step of warm-up; then a single window, which is not whole."""
    draw = Draw(stage.env, "plans")
    _record_plan(stage, (draw.whole(20, 40), 2, 0.004, 1))
    _record_plan(stage, (draw.whole(2, 3), draw.whole(2, 4), 0.02, 8))


@driver.scenario("ratio", "비율의 범위")
def _ratios(stage: Stage) -> None:
    """Both ends are allowed; beyond them nothing is."""
    draw = Draw(stage.env, "plans")
    for ratio in (0.001, 0.2):
        # A multiple of 5, and no half of a step at either end.
        _record_plan(stage, (1000 * draw.whole(2, 9) + 5 * draw.whole(20, 80), 1, ratio, 1))
    for ratio in (0.0, 0.0004, 0.25, 10.0, -0.1):
        student = stage.student("plan_steps")
        stage.recorder.expect(ValueError, f"warmup_ratio={ratio}", student, 100, 2, warmup_ratio=ratio)


@driver.scenario("types", "반환 타입")
def _plan_types(stage: Stage) -> None:
    draw = Draw(stage.env, "plans")
    value = _planned(stage, _plan(draw, 4, 1, rest=_ROUNDS_UP))
    items = list(value)[:10] if isinstance(value, tuple | list) else []
    kind = "tuple" if isinstance(value, tuple) else type_name(value)  # a named tuple is one
    stage.recorder.fact("반환 타입", [kind, *(type_name(item) for item in items)])
