"""Driver of `wsd_at`, which returns the learning rate of a step: warm-up, a stable phase at the peak, linear decay.

Promises of the exercise, and the scenarios that check them:
    a straight warm-up from `min_lr`: `warmup`; then `max_lr`: `stable`; then a straight decay to `min_lr`: `decay`
    `min_lr` from the decay's last step on, and after the end: `end`
    each part may have no steps: `no-warmup`, `no-stable`, `short-decay`; a decay may have one: `short-decay`
    impossible arguments are refused at every step: `refuses`; unusual ones are not: `equal-rates`
    the return value is a float: `types`
    tiny rates are not rounded: `warmup` and `decay`, through `record_tiny_rates`

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from grader.exercises.bells_and_whistles._tiny_rates import record_tiny_rates
from grader.exercises.fixtures.returned import FLOAT32_ATOL, type_witness
from grader.observe.play import Driver, Env, Stage
from grader.observe.values import as_number, type_name

driver = Driver("wsd_at")


class _Lengths(NamedTuple):
    """The lengths of the schedule's parts, in steps; the fields are named like the arguments."""

    warmup_steps: int
    stable_steps: int
    decay_steps: int


def _draw_lengths(env: Env) -> _Lengths:
    """Return three lengths of which no two are equal, so that a program shows that takes one for another."""
    draw = env.draw("lengths")
    return _Lengths(draw.whole(4, 5), draw.whole(12, 14), draw.whole(7, 8))


def _rates(env: Env) -> dict[str, float]:
    """Return two rates far from each other, as keyword arguments."""
    draw = env.draw("rates")
    return {"max_lr": draw.real(0.5, 0.9), "min_lr": draw.real(0.03, 0.06)}


def _call(stage: Stage, step: int, lengths: _Lengths, **rates: float) -> Any:
    """Call the learner's function and return its result; `rates` replace those of `_rates`."""
    arguments = {**_rates(stage.env), **rates, **lengths._asdict()}
    return stage.recorder.call(stage.student("wsd_at"), step, **arguments)


def _record_curve(stage: Stage, title: str, steps: Sequence[int], lengths: _Lengths) -> None:
    """Record the rates at `steps` as one array, whose Korean name is `title`."""
    stage.recorder.array(title, [as_number(_call(stage, step, lengths)) for step in steps])


def _record_tiny_curve(stage: Stage, title: str, steps: Sequence[int], lengths: _Lengths) -> None:
    """Record the rates at `steps`, for tiny `max_lr` and `min_lr`, divided by the peak (see `record_tiny_rates`)."""
    record_tiny_rates(stage, title, "wsd_at", steps, _rates(stage.env), **lengths._asdict())


@driver.scenario("warmup", "오르막", atol=FLOAT32_ATOL)
def _warmup(stage: Stage) -> None:
    """Ask for all steps of the warm-up and for the first at the peak; for tiny rates, only for those of the warm-up.

    A wrong program is one step ahead, starts at 0, or rounds.
    """
    lengths = _draw_lengths(stage.env)
    _record_curve(stage, "오르막의 학습률", range(lengths.warmup_steps + 1), lengths)
    _record_tiny_curve(stage, "오르막의 학습률", range(lengths.warmup_steps), lengths)


@driver.scenario("stable", "유지", atol=FLOAT32_ATOL)
def _stable(stage: Stage) -> None:
    """Ask for all steps at the peak, the first of the decay included.

    A wrong program forgets the warm-up when it counts the steps to the end of this phase, or falls one step early.
    """
    lengths = _draw_lengths(stage.env)
    steps = range(lengths.warmup_steps, lengths.warmup_steps + lengths.stable_steps + 1)
    _record_curve(stage, "정점과 내리막 첫 스텝의 학습률", steps, lengths)


@driver.scenario("decay", "내리막", atol=FLOAT32_ATOL)
def _decay(stage: Stage) -> None:
    """Ask for all steps of the decay, from its first, which is still at the peak, to its last.

    A wrong program begins below the peak, divides by one step too many, decays to 0, or rounds.
    """
    lengths = _draw_lengths(stage.env)
    start = lengths.warmup_steps + lengths.stable_steps
    steps = range(start, start + lengths.decay_steps)
    _record_curve(stage, "내리막의 학습률", steps, lengths)
    _record_tiny_curve(stage, "내리막의 학습률", steps, lengths)


@driver.scenario("end", "마지막 스텝과 그 뒤", atol=FLOAT32_ATOL)
def _end(stage: Stage) -> None:
    """Ask for the last step, and for steps after the end.

    A wrong program goes on falling below the minimum, or is still above it at the last step.
    """
    lengths = _draw_lengths(stage.env)
    total = sum(lengths)
    steps = (total - 1, total, total + 1, 2 * total, 3 * total + 1)
    _record_curve(stage, "마지막 스텝부터의 학습률", steps, lengths)


@driver.scenario("no-warmup", "워밍업 없이", check="missing", atol=FLOAT32_ATOL)
def _no_warmup(stage: Stage) -> None:
    """Ask for steps of a schedule without warm-up.

    A wrong program divides by zero, or leaves the peak one step early.
    """
    lengths = _draw_lengths(stage.env)._replace(warmup_steps=0)
    stable = lengths.stable_steps
    _record_curve(stage, "warmup_steps=0일 때의 학습률", (0, 1, stable - 1, stable), lengths)


@driver.scenario("no-stable", "유지하지 않고", check="missing", atol=FLOAT32_ATOL)
def _no_stable(stage: Stage) -> None:
    """Ask for steps before, at and after the peak of a schedule without stable phase.

    The peak lasts one step, the first of the decay. A wrong program begins the decay below it.
    """
    lengths = _draw_lengths(stage.env)._replace(stable_steps=0)
    warmup, _, decay = lengths
    _record_curve(stage, "stable_steps=0일 때의 학습률", (warmup - 1, warmup, warmup + decay - 1), lengths)


@driver.scenario("short-decay", "내리막이 한 스텝이거나 없을 때", check="missing", atol=FLOAT32_ATOL)
def _short_decay(stage: Stage) -> None:
    """Ask for steps around the end of three schedules: with a decay of one step, without decay, with only a warm-up.

    A decay of one step is at the minimum at once; a wrong program divides by `decay_steps - 1`, which is 0. With a
    stable phase and no decay the last step is still at the peak. With only a warm-up, the step after it is past the
    end.
    """
    lengths = _draw_lengths(stage.env)
    for decay in (1, 0):
        short = lengths._replace(decay_steps=decay)
        total = sum(short)
        title = f"decay_steps={decay}일 때의 학습률"
        _record_curve(stage, title, (total - 2, total - 1, total, total + 1), short)
    warmup = lengths.warmup_steps
    title = "유지와 내리막이 모두 0일 때의 학습률"
    _record_curve(stage, title, (warmup - 1, warmup, warmup + 1), _Lengths(warmup, 0, 0))


@driver.scenario("refuses", "말이 되지 않는 인자", atol=FLOAT32_ATOL)
def _refuses(stage: Stage) -> None:
    """Call with possible arguments, then with impossible ones at steps in several parts of the schedule.

    A wrong program accepts some impossible ones, or notices them only in the part of the schedule that uses them. The
    possible arguments come first: a program that refuses everything raises there, and so fails too.
    """
    lengths = _draw_lengths(stage.env)
    rates = _rates(stage.env)
    rate = _call(stage, lengths.warmup_steps, lengths)
    stage.recorder.array("받아들여야 하는 인자", [float(as_number(rate) > 0)])
    possible = {**rates, **lengths._asdict()}
    swapped_rates = {"max_lr": rates["min_lr"], "min_lr": rates["max_lr"]}
    no_steps = _Lengths(0, 0, 0)._asdict()
    past_the_end = 1000
    # Name of the fact -> the step, and the arguments that differ from `possible`
    impossible: dict[str, tuple[int, dict[str, float]]] = {
        "`step=-1`일 때": (-1, {}),
        "`warmup_steps=-1`일 때": (0, {"warmup_steps": -1}),
        "`stable_steps=-1`일 때": (0, {"stable_steps": -1}),
        "`decay_steps=-1`일 때": (0, {"decay_steps": -1}),
        "끝난 뒤에 `warmup_steps=-1`일 때": (past_the_end, {"warmup_steps": -1}),
        "끝난 뒤에 `stable_steps=-1`일 때": (past_the_end, {"stable_steps": -1}),
        "끝난 뒤에 `decay_steps=-1`일 때": (past_the_end, {"decay_steps": -1}),
        "세 길이가 모두 0일 때": (0, no_steps),
        "세 길이가 모두 0이고 `step=3`일 때": (3, no_steps),
        "오르막에서 `min_lr`이 `max_lr`보다 클 때": (1, swapped_rates),
        "끝난 뒤에 `min_lr`이 `max_lr`보다 클 때": (past_the_end, swapped_rates),
        "`min_lr`이 음수일 때": (lengths.warmup_steps, {"min_lr": -rates["min_lr"]}),
    }
    for fact, (step, changed) in impossible.items():
        stage.recorder.record_raised(ValueError, fact, stage.student("wsd_at"), step, **(possible | changed))


@driver.scenario(
    "equal-rates",
    "두 학습률이 같거나, min_lr이 0이거나, max_lr이 1보다 클 때",
    check="refuses",
    atol=FLOAT32_ATOL,
)
def _unusual_rates(stage: Stage) -> None:
    """Call with a constant rate, with a decay to zero and with a peak above 1; only the rate at the peak is recorded.

    A wrong program refuses one of them, although all are allowed.
    """
    lengths = _draw_lengths(stage.env)
    high = _rates(stage.env)["max_lr"]
    allowed = {  # name of the array -> (max_lr, min_lr)
        "min_lr=max_lr일 때의 학습률": (high, high),
        "min_lr=0일 때의 학습률": (high, 0.0),
        "max_lr이 1보다 클 때의 학습률": (4 * high, high),
    }
    for title, (max_lr, min_lr) in allowed.items():
        rate = _call(stage, lengths.warmup_steps, lengths, max_lr=max_lr, min_lr=min_lr)
        stage.recorder.array(title, [as_number(rate)])


@driver.scenario("types", "반환 타입", atol=FLOAT32_ATOL)
def _types(stage: Stage) -> None:
    """Record the types of the rates in each part and after the end, and whether the first two rates differ.

    A wrong program returns a tensor or an int in some part. A program that always returns the same float has the right
    types, and fails because its first two rates are equal.
    """
    lengths = _draw_lengths(stage.env)
    warmup, stable, _ = lengths
    steps = (1, warmup + 1, warmup + stable + 1, sum(lengths))
    rates = [_call(stage, step, lengths) for step in steps]
    witness = type_witness(float, rates, as_number(rates[1]))  # the rate at the peak depends on the seed
    stage.recorder.claim("반환 타입", [type_name(rate) for rate in rates], witness)
    stage.recorder.fact("오르막과 정점의 학습률이 다름", as_number(rates[0]) != as_number(rates[1]))
