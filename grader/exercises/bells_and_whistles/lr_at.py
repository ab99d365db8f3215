"""Driver of `lr_at`, which returns the learning rate of a step: linear warm-up, then cosine or linear decay.

Promises of the exercise, and the scenarios that check them:
    a straight warm-up from `initial_lr` to `peak_lr`: `ramp`, `low-start`
    a decay from `peak_lr` to `min_lr`: `cosine`, `linear`
    `min_lr` from the last step on: `end`
    the warm-up may have no steps, or all: `no-warmup`, `all-warmup`
    an unknown `decay` is refused at every step: `decay`, `decay-elsewhere`
    the return value is a float: `types`
    tiny rates are not rounded: `ramp`, `cosine` and `linear`, through `record_tiny_rates`

`ramp`, `cosine` and `linear` ask for every step of their part, because some mistakes show only where it begins or ends.
"""

from collections.abc import Sequence
from typing import Any

from grader.exercises.bells_and_whistles._tiny_rates import record_tiny_rates
from grader.exercises.fixtures.returned import FLOAT32_ATOL, type_witness
from grader.observe.play import Driver, Env, Stage
from grader.observe.values import as_number, type_name

driver = Driver("lr_at")


def _rates(env: Env) -> dict[str, float]:
    """Return three rates far from each other, as keyword arguments."""
    draw = env.draw("rates")
    return {
        "initial_lr": draw.real(0.03, 0.06),
        "peak_lr": draw.real(0.5, 0.9),
        "min_lr": draw.real(0.005, 0.02),
    }


def _lengths(env: Env) -> tuple[int, int]:
    """Return the number of warm-up steps and the number of all steps."""
    draw = env.draw("lengths")
    return draw.whole(4, 7), draw.whole(18, 26)


def _call(stage: Stage, step: int, warmup_steps: int, total_steps: int, **overrides: Any) -> Any:
    """Return what the learner's function returns; `overrides` are arguments beside `_rates`, or instead of them."""
    arguments = {**_rates(stage.env), **overrides}
    student = stage.student("lr_at")
    return stage.recorder.call(student, step, warmup_steps=warmup_steps, total_steps=total_steps, **arguments)


def _record_curve(
    stage: Stage, title: str, steps: Sequence[int], warmup_steps: int, total_steps: int, **overrides: Any
) -> None:
    """Record the rates at `steps` as one array, whose Korean name is `title`."""
    rates = [_call(stage, step, warmup_steps, total_steps, **overrides) for step in steps]
    stage.recorder.array(title, [as_number(rate) for rate in rates])


def _record_tiny_curve(
    stage: Stage, title: str, steps: Sequence[int], warmup_steps: int, total_steps: int, **decay: str
) -> None:
    """Record the rates at `steps` of a schedule with tiny rates, as `record_tiny_rates` does."""
    lengths = {"warmup_steps": warmup_steps, "total_steps": total_steps}
    record_tiny_rates(stage, title, "lr_at", steps, _rates(stage.env), **lengths, **decay)


@driver.scenario("ramp", "워밍업", atol=FLOAT32_ATOL)
def _ramp(stage: Stage) -> None:
    """Ask for all steps from the first to the peak.

    A wrong program is one step ahead or behind, starts at 0, overshoots the peak, or rounds.
    """
    warmup, total = _lengths(stage.env)
    _record_curve(stage, "워밍업의 학습률", range(warmup + 1), warmup, total)
    _record_tiny_curve(stage, "워밍업의 학습률", range(warmup + 1), warmup, total)


@driver.scenario("low-start", "min_lr보다 낮은 initial_lr", check="ramp", atol=FLOAT32_ATOL)
def _low_start(stage: Stage) -> None:
    """Begin the warm-up below the minimum of the decay, as where training starts from (almost) nothing.

    A wrong program keeps the rate from falling below `min_lr`, in the warm-up too.
    """
    warmup, total = _lengths(stage.env)
    low = 0.1 * _rates(stage.env)["min_lr"]
    _record_curve(stage, "낮은 곳에서 올라가는 학습률", range(warmup + 1), warmup, total, initial_lr=low)


@driver.scenario("cosine", "코사인 감쇠", atol=FLOAT32_ATOL)
def _cosine(stage: Stage) -> None:
    """Ask for all steps from the peak to the last, with the default `decay`; for one step also with `decay="cosine"`.

    A wrong program takes another part of the cosine, divides by a wrong number of steps, decays to 0, or rounds.
    """
    warmup, total = _lengths(stage.env)
    _record_curve(stage, "코사인 감쇠의 학습률", range(warmup, total), warmup, total)
    _record_curve(stage, 'decay="cosine"의 학습률', (warmup + 3,), warmup, total, decay="cosine")
    _record_tiny_curve(stage, "코사인 감쇠의 학습률", range(warmup, total), warmup, total)


@driver.scenario("linear", "선형 감쇠", atol=FLOAT32_ATOL)
def _linear(stage: Stage) -> None:
    """Ask for all steps from the peak to the last, with `decay="linear"`.

    A wrong program ignores `decay`, divides by a wrong number of steps, decays to 0, or rounds.
    """
    warmup, total = _lengths(stage.env)
    _record_curve(stage, "선형 감쇠의 학습률", range(warmup, total), warmup, total, decay="linear")
    _record_tiny_curve(stage, "선형 감쇠의 학습률", range(warmup, total), warmup, total, decay="linear")


@driver.scenario("end", "마지막 스텝과 그 뒤", atol=FLOAT32_ATOL)
def _end(stage: Stage) -> None:
    """Ask for the last step, and for steps after it.

    A wrong program rises again after the end (the cosine's next half) or falls below the minimum.
    """
    warmup, total = _lengths(stage.env)
    steps = (total - 1, total, total + 1, total + warmup, 2 * total - warmup + 1)
    for decay in ("cosine", "linear"):
        _record_curve(stage, f"끝난 뒤의 학습률 ({decay})", steps, warmup, total, decay=decay)


@driver.scenario("no-warmup", "워밍업 없이", atol=FLOAT32_ATOL)
def _no_warmup(stage: Stage) -> None:
    """Ask for all steps of a schedule without warm-up.

    A wrong program divides by zero, or warms up for one step all the same.
    """
    _, total = _lengths(stage.env)
    _record_curve(stage, "warmup_steps=0일 때의 학습률", range(total + 1), 0, total)


@driver.scenario("all-warmup", "워밍업만", check="no-warmup", atol=FLOAT32_ATOL)
def _all_warmup(stage: Stage) -> None:
    """Ask for all steps of a warm-up that lasts to the end, and of one that lasts to one step before it.

    A wrong program divides by a decay of no steps, is at the minimum while still in the warm-up, or stays at the peak.
    """
    _, total = _lengths(stage.env)
    steps = range(total + 2)
    _record_curve(stage, "warmup_steps=total_steps일 때의 학습률", steps, total, total)
    _record_curve(stage, "warmup_steps=total_steps−1일 때의 학습률", steps, total - 1, total, decay="linear")


_UNKNOWN_DECAYS = ("exponential", "polynomial", "cosine_with_restarts", "COSINUS", "constant", "lin", "")
"""Some resemble a known decay, for programs that compare only the first letters, or test `decay in "cosine linear"`."""


def _record_refusal(stage: Stage, step: int, decay: str, place: str) -> None:
    """Record whether an unknown decay is refused at this step; `place` is a Korean adverb for the step's part."""
    warmup, total = _lengths(stage.env)
    stage.recorder.record_raised(
        ValueError,
        f'{place} `decay="{decay}"`로 불렀을 때',
        stage.student("lr_at"),
        step,
        warmup_steps=warmup,
        total_steps=total,
        **_rates(stage.env),
        decay=decay,
    )


@driver.scenario("decay", "모르는 decay", atol=FLOAT32_ATOL)
def _decay(stage: Stage) -> None:
    """Ask for unknown decays at a step half-way down, where the decay is needed.

    A wrong program accepts some or all of them, or raises another exception than ValueError.
    """
    warmup, total = _lengths(stage.env)
    for decay in _UNKNOWN_DECAYS:
        _record_refusal(stage, (warmup + total) // 2, decay, "내리막에서")


@driver.scenario("decay-elsewhere", "오르막과 바닥에서 모르는 decay", check="decay", atol=FLOAT32_ATOL)
def _decay_elsewhere(stage: Stage) -> None:
    """Ask for an unknown decay at steps that do not need it: in the warm-up, and after the end.

    A wrong program looks at `decay` only on the way down, so a misspelled one stops the training after its warm-up.
    """
    _, total = _lengths(stage.env)
    _record_refusal(stage, 1, "exponential", "오르막에서")
    _record_refusal(stage, total + 1, "exponential", "끝난 뒤에")


@driver.scenario("types", "반환 타입", check="decay", atol=FLOAT32_ATOL)
def _types(stage: Stage) -> None:
    """Record the types of the rates in each part of the schedule.

    A wrong program returns a tensor in some part. The witness is the last rate of a schedule whose three rates are
    equal: hardly any mistake in the rates changes that.
    """
    warmup, total = _lengths(stage.env)
    rates = [_call(stage, step, warmup, total) for step in (1, warmup, warmup + 3, total - 1)]
    stage.recorder.fact("반환 타입", [type_name(rate) for rate in rates])
    equal_rates = dict.fromkeys(_rates(stage.env), _rates(stage.env)["peak_lr"])
    last = _call(stage, total - 1, warmup, total, **equal_rates)
    stage.recorder.array("반환 타입", type_witness(float, rates, as_number(last)))
