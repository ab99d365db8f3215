"""Driver of `sam_accumulate`: streams of micro-batches with a short tail, with and without clipping.

The SAM is the fixtures' own, so that a learner's mistake in `SAM` is not counted again here.
"""

import torch

from grader.exercises.sam_accumulation._base_optimizers import Make, momentum
from grader.exercises.sam_accumulation._tolerances import CLIP_ATOL, FLOAT32_ATOL
from grader.observe.fixtures.classifiers import (
    adamw,
    batches,
    gradient_norm,
    loss_function,
    mlp,
    scale_rates,
    sgd,
)
from grader.observe.fixtures.sam import FixtureSAM
from grader.observe.play import Driver, Env, Problem, Stage
from grader.observe.values import as_number, type_name

driver = Driver("sam_accumulate")

_MICRO = 3
"""Samples in every micro-batch: equal, so that concatenating a window is as right as looping over it."""


def _problem(env: Env) -> Problem:
    return Problem(mlp(env), batches(env, [_MICRO] * 18), loss_function(env))


def _sam_windows(stage: Stage, make: Make, *, clips: bool = False, record_returns: bool = False) -> None:
    """Two calls: 11 micro-batches by 4 (tail of 3), then 7 by 3 from a generator (tail of 1)."""
    problem, recorder = _problem(stage.env), stage.recorder
    model, loss_fn, data = problem.model, problem.loss_fn, problem.batches
    first_window = (torch.cat([xb for xb, _ in data[:4]]), torch.cat([yb for _, yb in data[:4]]))
    norm = gradient_norm(model, loss_fn, first_window)
    base = make(model)
    recorder.watch(model, base, batches=[xb for xb, _ in data], at_forwards=False)
    sam = FixtureSAM(base, recorder)
    losses: list[float] = []
    # The clip acts in the first call (it would even at four times the limit) and never in the second: a clip
    # that always acts hides a wrong scale, such as gradients not divided by the length of the window.
    parts = ((data[:11], 4, 0.15 * norm), (data[11:], 3, 50.0 * norm))
    if record_returns:
        list(model.modules())[-1].eval()
    for number, (part, accum_steps, limit) in enumerate(parts):
        micro_batches = list(part) if number == 0 else (batch for batch in part)
        extra = {"max_norm": limit} if clips else {}
        value = recorder.call(
            stage.student("sam_accumulate"), model, sam, loss_fn, micro_batches, accum_steps, **extra
        )
        if record_returns:
            items = list(value) if isinstance(value, list | tuple) else []
            recorder.append_fact("반환 타입", [type_name(value), *(type_name(item) for item in items)])
            losses += [as_number(item) for item in items]
        scale_rates(base, 0.8)
    if record_returns:
        recorder.array("returned", losses)
        recorder.modes()


@driver.scenario("sgd", "SGD 위의 SAM", problem=_problem)
def _sgd(stage: Stage) -> None:
    _sam_windows(stage, sgd)


@driver.scenario("clip", "모멘텀과 클리핑", atol=CLIP_ATOL)
def _clip(stage: Stage) -> None:
    _sam_windows(stage, momentum, clips=True)


@driver.scenario("adamw", "AdamW 위의 SAM")
def _adamw(stage: Stage) -> None:
    _sam_windows(stage, adamw)


@driver.scenario("edges", "한 개짜리 구간, 짧은 구간, 빈 입력")
def _edges(stage: Stage) -> None:
    """Windows of one micro-batch, fewer micro-batches than a window, none at all: each from a generator."""
    problem, recorder = _problem(stage.env), stage.recorder
    model, data = problem.model, problem.batches
    base = sgd(model)
    recorder.watch(model, base, batches=[xb for xb, _ in data], at_forwards=False)
    sam = FixtureSAM(base, recorder)
    for part, accum_steps in ((data[:3], 1), (data[3:5], 9), ([], 2)):
        micro_batches = (batch for batch in part)
        recorder.call(
            stage.student("sam_accumulate"), model, sam, problem.loss_fn, micro_batches, accum_steps
        )


@driver.scenario("returns", "반환값", atol=FLOAT32_ATOL)
def _returns(stage: Stage) -> None:
    """The returned losses; and the modes must stay: all but the last layer in train mode."""
    _sam_windows(stage, sgd, record_returns=True)
