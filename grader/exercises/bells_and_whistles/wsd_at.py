"""Driver of `wsd_at`, which returns the learning rate of a step: warm-up, a stable phase at the peak, linear decay.

Scenarios isolate each part of the schedule, the places where parts meet, parts of length zero, and arguments that must
be refused.
"""

from collections.abc import Sequence
from typing import Any

from grader.exercises.bells_and_whistles._tiny_rates import record_tiny_rates
from grader.exercises.fixtures.returned import FLOAT32_ATOL, type_witness
from grader.observe.play import Driver, Env, Stage
from grader.observe.values import as_number, type_name

driver = Driver("wsd_at")

_Lengths = tuple[int, int, int]
"""(steps of warm-up, steps at the peak, steps of decay)."""


def _rates(env: Env) -> dict[str, float]:
    """Return two rates far from each other, as keyword arguments."""
    draw = env.draw("rates")
    return {"max_lr": draw.real(0.5, 0.9), "min_lr": draw.real(0.03, 0.06)}


def _lengths(env: Env) -> _Lengths:
    """Return three lengths of which none equals another or the sum of others."""
    draw = env.draw("lengths")
    return draw.whole(4, 5), draw.whole(12, 14), draw.whole(7, 8)


def _named(lengths: _Lengths) -> dict[str, int]:
    return dict(zip(("warmup_steps", "stable_steps", "decay_steps"), lengths, strict=True))


def _rate(stage: Stage, step: int, lengths: _Lengths) -> Any:
    return stage.recorder.call(stage.student("wsd_at"), step, **_rates(stage.env), **_named(lengths))


def _tiny_curve(stage: Stage, what: str, steps: Sequence[int], lengths: _Lengths) -> None:
    """Record the rates at `steps` for tiny rates, as shares of the peak; `what` is their Korean name."""
    record_tiny_rates(stage, what, "wsd_at", steps, _rates(stage.env), **_named(lengths))


def _curve(stage: Stage, name: str, steps: Sequence[int], lengths: _Lengths) -> None:
    stage.recorder.array(name, [as_number(_rate(stage, step, lengths)) for step in steps])


@driver.scenario("warmup", "오르막", atol=FLOAT32_ATOL)
def _warmup(stage: Stage) -> None:
    """All steps from the first to the first at the peak."""
    warmup, stable, decay = _lengths(stage.env)
    _curve(stage, "오르막의 학습률", range(warmup + 1), (warmup, stable, decay))
    _tiny_curve(stage, "오르막의 학습률", range(warmup), (warmup, stable, decay))


@driver.scenario("stable", "유지", atol=FLOAT32_ATOL)
def _stable(stage: Stage) -> None:
    """All steps at the peak, the decay's first included."""
    warmup, stable, decay = _lengths(stage.env)
    steps = range(warmup, warmup + stable + 1)
    _curve(stage, "정점과 내리막 첫 스텝의 학습률", steps, (warmup, stable, decay))


@driver.scenario("decay", "내리막", atol=FLOAT32_ATOL)
def _decay(stage: Stage) -> None:
    """All steps of the decay, from its first, which is still at the peak, to its last."""
    warmup, stable, decay = _lengths(stage.env)
    start = warmup + stable
    _curve(stage, "내리막의 학습률", range(start, start + decay), (warmup, stable, decay))
    _tiny_curve(stage, "내리막의 학습률", range(start, start + decay), (warmup, stable, decay))


@driver.scenario("end", "마지막 스텝과 그 뒤", atol=FLOAT32_ATOL)
def _end(stage: Stage) -> None:
    """The last step, and steps after the end."""
    lengths = _lengths(stage.env)
    total = sum(lengths)
    _curve(
        stage, "마지막 스텝부터의 학습률", (total - 1, total, total + 1, 2 * total, 3 * total + 1), lengths
    )


@driver.scenario("no-warmup", "워밍업 없이", check="missing", atol=FLOAT32_ATOL)
def _no_warmup(stage: Stage) -> None:
    _, stable, decay = _lengths(stage.env)
    _curve(stage, "warmup_steps=0일 때의 학습률", (0, 1, stable - 1, stable), (0, stable, decay))


@driver.scenario("no-stable", "유지하지 않고", check="missing", atol=FLOAT32_ATOL)
def _no_stable(stage: Stage) -> None:
    """Without a stable phase the peak lasts one step, the decay's first."""
    warmup, _, decay = _lengths(stage.env)
    steps = (warmup - 1, warmup, warmup + decay - 1)
    _curve(stage, "stable_steps=0일 때의 학습률", steps, (warmup, 0, decay))


@driver.scenario("short-decay", "내리막이 한 스텝이거나 없을 때", check="missing", atol=FLOAT32_ATOL)
def _short_decay(stage: Stage) -> None:
    """A decay of one step, of none, and a schedule of nothing but a warm-up.

    A single step of decay is the last one, so it is at the minimum. Without decay the last step is still at the peak,
    if there is one; after nothing but a warm-up, the next step is already past the end.
    """
    warmup, stable, _ = _lengths(stage.env)
    for decay in (1, 0):
        total = warmup + stable + decay
        name = f"decay_steps={decay}일 때의 학습률"
        _curve(stage, name, (total - 2, total - 1, total, total + 1), (warmup, stable, decay))
    name = "유지와 내리막이 모두 0일 때의 학습률"
    _curve(stage, name, (warmup - 1, warmup, warmup + 1), (warmup, 0, 0))


@driver.scenario("refuses", "말이 되지 않는 인자", atol=FLOAT32_ATOL)
def _refuses(stage: Stage) -> None:
    """Impossible arguments must be refused at any step.

    A possible one comes first: always raising must fail here too.
    """
    warmup, stable, decay = lengths = _lengths(stage.env)
    stage.recorder.array("받아들여야 하는 인자", [float(as_number(_rate(stage, warmup, lengths)) > 0)])
    low, high = sorted(_rates(stage.env).values())
    usual = {"max_lr": high, "min_lr": low, **_named((warmup, stable, decay))}
    wrong: dict[str, tuple[int, dict[str, float]]] = {
        "`step=-1`일 때": (-1, {}),
        "`warmup_steps=-1`일 때": (0, {"warmup_steps": -1}),
        "`stable_steps=-1`일 때": (0, {"stable_steps": -1}),
        "`decay_steps=-1`일 때": (0, {"decay_steps": -1}),
        "끝난 뒤에 `warmup_steps=-1`일 때": (1000, {"warmup_steps": -1}),
        "끝난 뒤에 `stable_steps=-1`일 때": (1000, {"stable_steps": -1}),
        "끝난 뒤에 `decay_steps=-1`일 때": (1000, {"decay_steps": -1}),
        "세 길이가 모두 0일 때": (0, {**_named((0, 0, 0))}),
        "세 길이가 모두 0이고 `step=3`일 때": (3, {**_named((0, 0, 0))}),
        "오르막에서 `min_lr`이 `max_lr`보다 클 때": (1, {"max_lr": low, "min_lr": high}),
        "끝난 뒤에 `min_lr`이 `max_lr`보다 클 때": (1000, {"max_lr": low, "min_lr": high}),
        "`min_lr`이 음수일 때": (warmup, {"min_lr": -low}),
    }
    for what, (step, changed) in wrong.items():
        stage.recorder.record_raised(ValueError, what, stage.student("wsd_at"), step, **(usual | changed))


@driver.scenario(
    "equal-rates",
    "두 학습률이 같거나, min_lr이 0이거나, max_lr이 1보다 클 때",
    check="refuses",
    atol=FLOAT32_ATOL,
)
def _equal_rates(stage: Stage) -> None:
    """A constant rate, a decay to zero and a peak above 1 must all be
    accepted; only the rate at the peak is recorded.
    """
    lengths = _lengths(stage.env)
    high = _rates(stage.env)["max_lr"]
    allowed = {
        "min_lr=max_lr일 때의 학습률": (high, high),
        "min_lr=0일 때의 학습률": (high, 0.0),
        "max_lr이 1보다 클 때의 학습률": (4 * high, high),
    }
    for name, (peak, low) in allowed.items():
        value = stage.recorder.call(
            stage.student("wsd_at"), lengths[0], max_lr=peak, min_lr=low, **_named(lengths)
        )
        stage.recorder.array(name, [as_number(value)])


@driver.scenario("types", "반환 타입", atol=FLOAT32_ATOL)
def _types(stage: Stage) -> None:
    """The types of returned rates. Two rates must differ: always returning the same float must fail here too."""
    warmup, stable, _ = lengths = _lengths(stage.env)
    steps = (1, warmup + 1, warmup + stable + 1, sum(lengths))
    values = [_rate(stage, step, lengths) for step in steps]
    witness = type_witness(float, values, as_number(values[1]))
    stage.recorder.claim("반환 타입", [type_name(value) for value in values], witness)
    stage.recorder.fact("오르막과 정점의 학습률이 다름", as_number(values[0]) != as_number(values[1]))
