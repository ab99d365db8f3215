"""Driver of `lr_at`, which returns the learning rate of a step: linear warm-up, then cosine or linear decay.

The scenarios ask for every step of whole schedules, because most mistakes show only where one part ends. They isolate
the warm-up, each decay, the end, schedules without or with nothing but a warm-up, an unknown `decay`, and types.
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
    """Return the numbers of warm-up steps and of all steps."""
    draw = env.draw("lengths")
    return draw.whole(4, 7), draw.whole(18, 26)


def _curve(
    stage: Stage, name: str, steps: Sequence[int], warmup_steps: int, total_steps: int, **other: Any
) -> None:
    """Record the rates at `steps` as an array."""
    asked = {**_rates(stage.env), **other}
    values = [
        stage.recorder.call(
            stage.student("lr_at"), step, warmup_steps=warmup_steps, total_steps=total_steps, **asked
        )
        for step in steps
    ]
    stage.recorder.array(name, [as_number(value) for value in values])


def _tiny_curve(
    stage: Stage, what: str, steps: Sequence[int], warmup_steps: int, total_steps: int, **decay: str
) -> None:
    """Record the rates at `steps` for tiny rates, as shares of the peak; `what` is their Korean name."""
    lengths = {"warmup_steps": warmup_steps, "total_steps": total_steps}
    record_tiny_rates(stage, what, "lr_at", steps, _rates(stage.env), **lengths, **decay)


@driver.scenario("ramp", "워밍업", atol=FLOAT32_ATOL)
def _ramp(stage: Stage) -> None:
    """All steps from the first to the peak."""
    warmup, total = _lengths(stage.env)
    _curve(stage, "워밍업의 학습률", range(warmup + 1), warmup, total)
    _tiny_curve(stage, "워밍업의 학습률", range(warmup + 1), warmup, total)


@driver.scenario("low-start", "min_lr보다 낮은 initial_lr", check="ramp", atol=FLOAT32_ATOL)
def _low_start(stage: Stage) -> None:
    """The warm-up begins below the minimum of the decay, as where training starts from (almost) nothing."""
    warmup, total = _lengths(stage.env)
    low = 0.1 * _rates(stage.env)["min_lr"]
    _curve(stage, "낮은 곳에서 올라가는 학습률", range(warmup + 1), warmup, total, initial_lr=low)


@driver.scenario("cosine", "코사인 감쇠", atol=FLOAT32_ATOL)
def _cosine(stage: Stage) -> None:
    """All steps from the peak to the last; cosine is the default."""
    warmup, total = _lengths(stage.env)
    _curve(stage, "코사인 감쇠의 학습률", range(warmup, total), warmup, total)
    _curve(stage, 'decay="cosine"의 학습률', (warmup + 3,), warmup, total, decay="cosine")
    _tiny_curve(stage, "코사인 감쇠의 학습률", range(warmup, total), warmup, total)


@driver.scenario("linear", "선형 감쇠", atol=FLOAT32_ATOL)
def _linear(stage: Stage) -> None:
    warmup, total = _lengths(stage.env)
    _curve(stage, "선형 감쇠의 학습률", range(warmup, total), warmup, total, decay="linear")
    _tiny_curve(stage, "선형 감쇠의 학습률", range(warmup, total), warmup, total, decay="linear")


@driver.scenario("end", "마지막 스텝과 그 뒤", atol=FLOAT32_ATOL)
def _beyond(stage: Stage) -> None:
    """The last step, and steps after `total_steps`."""
    warmup, total = _lengths(stage.env)
    steps = (total - 1, total, total + 1, total + warmup, 2 * total - warmup + 1)
    for decay in ("cosine", "linear"):
        _curve(stage, f"끝난 뒤의 학습률 ({decay})", steps, warmup, total, decay=decay)


@driver.scenario("no-warmup", "워밍업 없이", atol=FLOAT32_ATOL)
def _without_warmup(stage: Stage) -> None:
    _, total = _lengths(stage.env)
    _curve(stage, "warmup_steps=0일 때의 학습률", range(total + 1), 0, total)


@driver.scenario("all-warmup", "워밍업만", check="no-warmup", atol=FLOAT32_ATOL)
def _warmup_only(stage: Stage) -> None:
    """A warm-up that lasts to the end, and one that lasts to one step before it."""
    _, total = _lengths(stage.env)
    steps = range(total + 2)
    _curve(stage, "warmup_steps=total_steps일 때의 학습률", steps, total, total)
    _curve(stage, "warmup_steps=total_steps−1일 때의 학습률", steps, total - 1, total, decay="linear")


_UNKNOWN_DECAYS = ("exponential", "polynomial", "cosine_with_restarts", "COSINUS", "constant", "lin", "")
"""Some resemble a known decay, for functions that compare only the first letters, or ask `decay in "cosine linear"`."""


@driver.scenario("decay", "모르는 decay", atol=FLOAT32_ATOL)
def _other_decay(stage: Stage) -> None:
    """Unknown decays at a step half-way down, where the decay is needed."""
    warmup, total = _lengths(stage.env)
    for decay in _UNKNOWN_DECAYS:
        _refused(stage, (warmup + total) // 2, decay, "내리막에서")


@driver.scenario("decay-elsewhere", "오르막과 바닥에서 모르는 decay", check="decay", atol=FLOAT32_ATOL)
def _other_decay_elsewhere(stage: Stage) -> None:
    """An unknown decay at steps that do not need it: it must be refused at the first step, not after the warm-up."""
    _, total = _lengths(stage.env)
    _refused(stage, 1, "exponential", "오르막에서")
    _refused(stage, total + 1, "exponential", "끝난 뒤에")


def _refused(stage: Stage, step: int, decay: str, where: str) -> None:
    """Record whether an unknown decay is refused at this step; `where` is the Korean name of the place."""
    warmup, total = _lengths(stage.env)
    stage.recorder.record_raised(
        ValueError,
        f'{where} `decay="{decay}"`로 불렀을 때',
        stage.student("lr_at"),
        step,
        warmup_steps=warmup,
        total_steps=total,
        **_rates(stage.env),
        decay=decay,
    )


@driver.scenario("types", "반환 타입", check="decay", atol=FLOAT32_ATOL)
def _rate_types(stage: Stage) -> None:
    """The types of the returned rates.

    Their witness is the last rate of a schedule whose rates are all equal: hardly any mistake in the rates changes it.
    """
    warmup, total = _lengths(stage.env)
    steps = (1, warmup, warmup + 3, total - 1)
    values = [
        stage.recorder.call(
            stage.student("lr_at"), step, warmup_steps=warmup, total_steps=total, **_rates(stage.env)
        )
        for step in steps
    ]
    stage.recorder.fact("반환 타입", [type_name(value) for value in values])
    rate = _rates(stage.env)["peak_lr"]
    same = dict.fromkeys(_rates(stage.env), rate)
    last = stage.recorder.call(
        stage.student("lr_at"), total - 1, warmup_steps=warmup, total_steps=total, **same
    )
    stage.recorder.array("반환 타입", type_witness(float, values, as_number(last)))
