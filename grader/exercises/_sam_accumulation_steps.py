"""Drivers of lesson 04, second part: `sam_step` and `sam_accumulate`, over a SAM of the fixtures' own."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from grader.observe.fixtures.classifiers import (
    CLASSES,
    FEATURES,
    HIDDEN,
    Net,
    adamw,
    batches,
    gradient_norm,
    initialised,
    loss_function,
    mlp,
    scale_rates,
    sgd,
)
from grader.observe.fixtures.sam import FixtureSAM
from grader.observe.play import Driver, Env, Problem, Scenario, Stage
from grader.observe.recorder import as_number, type_name

CLIP_ATOL = 1e-5
"""torch divides by norm + 1e-6; a clip written by hand without it is right too."""

FLOAT32_ATOL = 1e-6
"""A loss may pass through float32 on its way out."""

Make = Callable[[nn.Module], Optimizer]


# ---- sam_step ------------------------------------------------------------------------------------


def _step_problem(env: Env) -> Problem:
    return Problem(mlp(env), batches(env, (4, 3, 5, 2)), loss_function(env))


def _sam_steps(stage: Stage, make: Make, *, record_returns: bool = False) -> None:
    problem, recorder = _step_problem(stage.env), stage.recorder
    base = make(problem.model)
    # States count updates; w + e is what forward passes see between two of them.
    recorder.watch(problem.model, base, batches=[xb for xb, _ in problem.batches], at_forwards=False)
    sam = FixtureSAM(base, recorder)
    for xb, yb in problem.batches:
        value = recorder.call(stage.student("sam_step"), problem.model, sam, problem.loss_fn, xb, yb)
        if record_returns:
            recorder.returned(value)
        scale_rates(base, 0.8)


def _momentum(model: nn.Module) -> Optimizer:
    return sgd(model, momentum=0.9)


def _step_sgd(stage: Stage) -> None:
    _sam_steps(stage, sgd)


def _step_momentum(stage: Stage) -> None:
    _sam_steps(stage, _momentum)


def _step_adamw(stage: Stage) -> None:
    _sam_steps(stage, adamw)


def _step_returns(stage: Stage) -> None:
    _sam_steps(stage, sgd, record_returns=True)


def _with_batch_norm(env: Env, salt: str) -> Net:
    """Without dropout, whose mask may rightly be drawn anew or kept. BatchNorm comes after a layer without bias."""
    layers = [
        nn.Linear(FEATURES, HIDDEN, bias=False),
        nn.BatchNorm1d(HIDDEN),
        nn.Tanh(),
        nn.Linear(HIDDEN, CLASSES),
    ]
    return initialised(Net(layers), env, salt)


def _step_modes(stage: Stage) -> None:
    """A model in train mode, one in eval mode, and one with a frozen BatchNorm: one call each."""
    env, recorder = stage.env, stage.recorder
    (batch,) = batches(env, (6,))
    for mode in ("train", "eval", "frozen"):
        model = _with_batch_norm(env, mode)
        model.train(mode != "eval")
        if mode == "frozen":
            model.layers[1].eval()
        base = sgd(model)
        recorder.watch(model, base, at_forwards=False)
        recorder.call(
            stage.student("sam_step"), model, FixtureSAM(base, recorder), loss_function(env), *batch
        )
        recorder.modes()
        # Switching statistics off for the second pass is right, leaving them off is not.
        norm: Any = model.layers[1]
        recorder.append_fact("배치 정규화의 설정", [norm.momentum, norm.track_running_stats])


# ---- sam_accumulate ------------------------------------------------------------------------------

MICRO = 3
"""Samples in every micro-batch: equal, so that concatenating a window is as right as looping over it."""


def _window_problem(env: Env) -> Problem:
    return Problem(mlp(env), batches(env, [MICRO] * 18), loss_function(env))


def _sam_windows(stage: Stage, make: Make, *, clips: bool = False, record_returns: bool = False) -> None:
    """Two calls: 11 micro-batches by 4 (tail of 3), then 7 by 3 from a generator (tail of 1)."""
    problem, recorder = _window_problem(stage.env), stage.recorder
    model, loss_fn, data = problem.model, problem.loss_fn, problem.batches
    first_window = (torch.cat([xb for xb, _ in data[:4]]), torch.cat([yb for _, yb in data[:4]]))
    norm = gradient_norm(model, loss_fn, first_window)
    base = make(model)
    recorder.watch(model, base, batches=[xb for xb, _ in data], at_forwards=False)
    sam = FixtureSAM(base, recorder)
    losses: list[float] = []
    # Active in the first call (four times the limit still is), out of reach in the second: a clip that
    # always acts hides a wrong scale.
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


def _windows_sgd(stage: Stage) -> None:
    _sam_windows(stage, sgd)


def _windows_clip(stage: Stage) -> None:
    _sam_windows(stage, _momentum, clips=True)


def _windows_adamw(stage: Stage) -> None:
    _sam_windows(stage, adamw)


def _windows_returns(stage: Stage) -> None:
    """What comes back, and the modes as they were: all but the last layer in train mode."""
    _sam_windows(stage, sgd, record_returns=True)


def _windows_edges(stage: Stage) -> None:
    """One micro-batch a window, fewer micro-batches than a window, none at all: each from a generator."""
    problem, recorder = _window_problem(stage.env), stage.recorder
    model, data = problem.model, problem.batches
    base = sgd(model)
    recorder.watch(model, base, batches=[xb for xb, _ in data], at_forwards=False)
    sam = FixtureSAM(base, recorder)
    for part, accum_steps in ((data[:3], 1), (data[3:5], 9), ([], 2)):
        micro_batches = (batch for batch in part)
        recorder.call(
            stage.student("sam_accumulate"), model, sam, problem.loss_fn, micro_batches, accum_steps
        )


DRIVERS = (
    Driver(
        "sam_step",
        (
            Scenario("sgd", "SGD 위의 SAM", _step_sgd, problem=_step_problem),
            Scenario("momentum", "모멘텀 위의 SAM", _step_momentum),
            Scenario("adamw", "AdamW 위의 SAM", _step_adamw),
            Scenario("modes", "학습 모드·평가 모드·얼린 배치 정규화", _step_modes),
            Scenario("returns", "반환값", _step_returns, FLOAT32_ATOL),
        ),
    ),
    Driver(
        "sam_accumulate",
        (
            Scenario("sgd", "SGD 위의 SAM", _windows_sgd, problem=_window_problem),
            Scenario("clip", "모멘텀과 클리핑", _windows_clip, CLIP_ATOL),
            Scenario("adamw", "AdamW 위의 SAM", _windows_adamw),
            Scenario("edges", "한 개짜리 구간, 짧은 구간, 빈 입력", _windows_edges),
            Scenario("returns", "반환값", _windows_returns, FLOAT32_ATOL),
        ),
    ),
)
