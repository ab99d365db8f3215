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

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from grader.exercises.bells_and_whistles._tiny_rates import record_tiny_rates
from grader.exercises.fixtures.returned import FLOAT32_ATOL, type_witness
from grader.observe.play import Driver, Env, Stage
from grader.observe.values import as_number, type_name

driver = Driver("lr_at")


class _Lengths(NamedTuple):
    """The lengths of a schedule, in steps; the fields are named like the arguments."""

    warmup_steps: int
    total_steps: int


def _rates(env: Env) -> dict[str, float]:
    """Return three rates far from each other, as keyword arguments."""
    draw = env.draw("rates")
    return {
        "initial_lr": draw.real(0.03, 0.06),
        "peak_lr": draw.real(0.5, 0.9),
        "min_lr": draw.real(0.005, 0.02),
    }


def _draw_lengths(env: Env) -> _Lengths:
    """Return a warm-up of four to seven steps, in a schedule in which many steps of decay follow."""
    draw = env.draw("lengths")
    return _Lengths(warmup_steps=draw.whole(4, 7), total_steps=draw.whole(18, 26))


def _call(stage: Stage, step: int, lengths: _Lengths, **overrides: Any) -> Any:
    """Call the learner's function and return its result.

    Args:
        stage: the scenario's stage.
        step: the step whose rate is asked for.
        lengths: the schedule's lengths.
        overrides: arguments beside `_rates`, or instead of them.
    """
    arguments = {**lengths._asdict(), **_rates(stage.env), **overrides}
    return stage.recorder.call(stage.student("lr_at"), step, **arguments)


def _record_curve(
    stage: Stage, title: str, steps: Sequence[int], lengths: _Lengths, **overrides: Any
) -> None:
    """Record the rates at `steps` as one array, whose Korean name is `title`; `overrides` as in `_call`."""
    rates = [_call(stage, step, lengths, **overrides) for step in steps]
    stage.recorder.array(title, [as_number(rate) for rate in rates])


def _record_tiny_curve(
    stage: Stage, title: str, steps: Sequence[int], lengths: _Lengths, **other_arguments: str
) -> None:
    """Record the rates at `steps` of a schedule with tiny rates, as `record_tiny_rates` does."""
    record_tiny_rates(stage, title, "lr_at", steps, _rates(stage.env), **lengths._asdict(), **other_arguments)


@driver.scenario("ramp", "워밍업", atol=FLOAT32_ATOL)
def _ramp(stage: Stage) -> None:
    """Ask for all steps from the first to the peak.

    A wrong program is one step ahead or behind, starts at 0, overshoots the peak, or rounds.
    """
    lengths = _draw_lengths(stage.env)
    steps = range(lengths.warmup_steps + 1)
    _record_curve(stage, "워밍업의 학습률", steps, lengths)
    _record_tiny_curve(stage, "워밍업의 학습률", steps, lengths)


@driver.scenario("low-start", "min_lr보다 낮은 initial_lr", check="ramp", atol=FLOAT32_ATOL)
def _low_start(stage: Stage) -> None:
    """Begin the warm-up below the minimum of the decay, as where training starts from (almost) nothing.

    A wrong program keeps the rate from falling below `min_lr`, in the warm-up too.
    """
    lengths = _draw_lengths(stage.env)
    low = 0.1 * _rates(stage.env)["min_lr"]
    steps = range(lengths.warmup_steps + 1)
    _record_curve(stage, "낮은 곳에서 올라가는 학습률", steps, lengths, initial_lr=low)


@driver.scenario("cosine", "코사인 감쇠", atol=FLOAT32_ATOL)
def _cosine(stage: Stage) -> None:
    """Ask for all steps from the peak to the last without `decay`, and for one of them with `decay="cosine"`, too.

    A wrong program has another default, takes another part of the cosine, divides by a wrong number of steps, decays to
    0, or rounds.
    """
    lengths = _draw_lengths(stage.env)
    steps = range(*lengths)
    _record_curve(stage, "코사인 감쇠의 학습률", steps, lengths)
    _record_curve(stage, 'decay="cosine"의 학습률', (lengths.warmup_steps + 3,), lengths, decay="cosine")
    _record_tiny_curve(stage, "코사인 감쇠의 학습률", steps, lengths)


@driver.scenario("linear", "선형 감쇠", atol=FLOAT32_ATOL)
def _linear(stage: Stage) -> None:
    """Ask for all steps from the peak to the last, with `decay="linear"`.

    A wrong program ignores `decay`, divides by a wrong number of steps, decays to 0, or rounds.
    """
    lengths = _draw_lengths(stage.env)
    steps = range(*lengths)
    _record_curve(stage, "선형 감쇠의 학습률", steps, lengths, decay="linear")
    _record_tiny_curve(stage, "선형 감쇠의 학습률", steps, lengths, decay="linear")


@driver.scenario("end", "마지막 스텝과 그 뒤", atol=FLOAT32_ATOL)
def _end(stage: Stage) -> None:
    """Ask for the last step, and for steps after it.

    A wrong program rises again after the end (the cosine's next half) or falls below the minimum.
    """
    lengths = _draw_lengths(stage.env)
    warmup, total = lengths
    back_at_the_peak = 2 * total - warmup + 1  # about where a cosine that is not stopped has its next peak
    steps = (total - 1, total, total + 1, total + warmup, back_at_the_peak)
    for decay in ("cosine", "linear"):
        _record_curve(stage, f"끝난 뒤의 학습률 ({decay})", steps, lengths, decay=decay)


@driver.scenario("no-warmup", "워밍업 없이", atol=FLOAT32_ATOL)
def _no_warmup(stage: Stage) -> None:
    """Ask for all steps of a schedule without warm-up.

    A wrong program divides by zero, or warms up for one step all the same.
    """
    lengths = _draw_lengths(stage.env)._replace(warmup_steps=0)
    _record_curve(stage, "warmup_steps=0일 때의 학습률", range(lengths.total_steps + 1), lengths)


@driver.scenario("all-warmup", "워밍업만", check="no-warmup", atol=FLOAT32_ATOL)
def _all_warmup(stage: Stage) -> None:
    """Ask for all steps of a warm-up that lasts to the end, and of one that lasts to one step before it.

    A wrong program divides by a decay of no steps, is at the minimum while still in the warm-up, or stays at the peak.
    """
    total = _draw_lengths(stage.env).total_steps
    steps, to_the_end, to_one_before = range(total + 2), _Lengths(total, total), _Lengths(total - 1, total)
    _record_curve(stage, "warmup_steps=total_steps일 때의 학습률", steps, to_the_end)
    _record_curve(stage, "warmup_steps=total_steps−1일 때의 학습률", steps, to_one_before, decay="linear")


_UNKNOWN_DECAYS = ("exponential", "polynomial", "cosine_with_restarts", "COSINUS", "constant", "lin", "")
"""Some resemble a known decay, for programs that compare only the first letters, or test `decay in "cosine linear"`."""


def _record_refusal(stage: Stage, step: int, decay: str, place: str) -> None:
    """Record what a call with an unknown decay raises.

    Args:
        stage: the scenario's stage.
        step: the step whose rate is asked for.
        decay: a name that the function must refuse.
        place: Korean adverb for the part of the schedule in which the step lies.
    """
    stage.recorder.record_raised(
        ValueError,
        f'{place} `decay="{decay}"`로 불렀을 때',
        stage.student("lr_at"),
        step,
        **_draw_lengths(stage.env)._asdict(),
        **_rates(stage.env),
        decay=decay,
    )


@driver.scenario("decay", "모르는 decay", atol=FLOAT32_ATOL)
def _unknown_decay(stage: Stage) -> None:
    """Ask for unknown decays at a step half-way down, where the decay is needed.

    A wrong program accepts some or all of them, or raises another exception than ValueError.
    """
    half_way_down = sum(_draw_lengths(stage.env)) // 2
    for decay in _UNKNOWN_DECAYS:
        _record_refusal(stage, half_way_down, decay, "내리막에서")


@driver.scenario("decay-elsewhere", "오르막과 바닥에서 모르는 decay", check="decay", atol=FLOAT32_ATOL)
def _unknown_decay_elsewhere(stage: Stage) -> None:
    """Ask for an unknown decay at steps that do not need it: in the warm-up, and after the end.

    A wrong program looks at `decay` only on the way down, so a misspelled one stops the training after its warm-up.
    """
    past_the_end = _draw_lengths(stage.env).total_steps + 1
    _record_refusal(stage, 1, "exponential", "오르막에서")
    _record_refusal(stage, past_the_end, "exponential", "끝난 뒤에")


@driver.scenario("types", "반환 타입", check="decay", atol=FLOAT32_ATOL)
def _types(stage: Stage) -> None:
    """Record the types of the rates in each part of the schedule.

    A wrong program returns a tensor in some part. The witness is the last rate of a schedule whose three rates are
    equal: hardly any mistake in the rates changes that.
    """
    lengths = _draw_lengths(stage.env)
    warmup, last_step = lengths.warmup_steps, lengths.total_steps - 1
    rates = [_call(stage, step, lengths) for step in (1, warmup, warmup + 3, last_step)]
    stage.recorder.fact("반환 타입", [type_name(rate) for rate in rates])
    given_rates = _rates(stage.env)
    equal_rates = dict.fromkeys(given_rates, given_rates["peak_lr"])
    last_rate = as_number(_call(stage, last_step, lengths, **equal_rates))
    stage.recorder.array("반환 타입", type_witness(float, rates, last_rate))
