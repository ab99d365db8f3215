"""Driver of `amp_accumulate`, which makes one mixed-precision update from a window of micro-batches of equal size.

Scenarios isolate updates in bfloat16 and float16, overflows (of gradients, of a loss, with clipping), the extent of
autocast, the returned mean loss and modes.
"""

from typing import Any

import torch
from torch import Tensor, nn

from grader.exercises.fixtures.classifiers import Batch, LossFn, loss_function, sgd
from grader.exercises.fixtures.memory import record_window_memory
from grader.exercises.loop_anatomy._mixed_precision import (
    AMP_ATOL,
    autocast_net,
    fresh_gradient_norm,
    grad_scaler,
    half_step_batches,
    overflowing,
    record_modes,
    record_precision,
    record_returned,
    record_scales,
    update_with_limit_zero,
    update_with_limits,
)
from grader.observe.play import Driver, Env, Problem, Stage

driver = Driver("amp_accumulate")

_OUT_OF_REACH = 1e6
"""A norm limit that no ordinary gradient meets: how gradients are clipped is judged elsewhere."""

_MICRO = 3
"""Samples in a micro-batch."""


def _windows(env: Env) -> tuple[list[Batch], ...]:
    """Return windows of four, three, one and four micro-batches, all of one size."""
    data = half_step_batches(env, (_MICRO,) * 12)
    return data[:4], data[4:7], data[7:8], data[8:]


def _problem(env: Env) -> Problem:
    return Problem(autocast_net(env), half_step_batches(env, (_MICRO,) * 12), loss_function(env))


def _accumulated(stage: Stage, dtype: torch.dtype, scaler: torch.amp.GradScaler | None) -> None:
    """Make one call for each window, with falling rates. The clip is off, active, idle and active in turn.

    With a scaler, it is active first and off second.
    """
    env, recorder = stage.env, stage.recorder
    problem = _problem(env)
    windows = _windows(env)
    first = (torch.cat([xb for xb, _ in windows[0]]), torch.cat([yb for _, yb in windows[0]]))
    norm = fresh_gradient_norm(env, first)
    opt = sgd(problem.model)
    recorder.watch(problem.model, opt, batches=[xb for xb, _ in problem.batches])
    inputs = [(window,) for window in windows]
    start = (None, 0.4 * norm) if scaler is None else (0.4 * norm, None)
    limits = (*start, 50.0 * norm, 0.3 * norm)
    update_with_limits(stage, "amp_accumulate", problem, opt, inputs, limits, dtype=dtype, scaler=scaler)


@driver.scenario("bf16", "bfloat16, 스케일러 없이", atol=AMP_ATOL, problem=_problem)
def _bf16(stage: Stage) -> None:
    _accumulated(stage, torch.bfloat16, None)


@driver.scenario("zero-norm", "max_norm=0.0", check="bf16", atol=AMP_ATOL)
def _zero_norm(stage: Stage) -> None:
    update_with_limit_zero(stage, "amp_accumulate", _problem(stage.env), (_windows(stage.env)[0],))


@driver.scenario("fp16", "float16과 스케일러", atol=AMP_ATOL, problem=_problem)
def _fp16(stage: Stage) -> None:
    _accumulated(stage, torch.float16, grad_scaler(stage.env, init_scale=2.0**10, growth_interval=2))


@driver.scenario("overflow", "오버플로가 난 구간", atol=AMP_ATOL)
def _overflow(stage: Stage) -> None:
    """A window with such a large loss that its scaled gradients are infinite; then an ordinary one."""
    env, recorder = stage.env, stage.recorder
    problem = _problem(env)
    opt = sgd(problem.model)
    scaler = grad_scaler(env, init_scale=2.0**40, backoff_factor=2.0**-32)
    recorder.watch(problem.model, opt)
    factors, scales = (1e300, 1.0), []
    for window, factor in zip(_windows(env), factors, strict=False):

        def loss_fn(output: Tensor, target: Tensor, factor: float = factor) -> Tensor:
            return problem.loss_fn(output, target) * factor

        recorder.call(
            stage.student("amp_accumulate"),
            *(problem.model, opt, loss_fn, window),
            dtype=torch.float16,
            scaler=scaler,
        )
        scales.append(scaler.get_scale())
    recorder.array("배율", scales)


@driver.scenario("infinite-loss", "손실이 inf인 마이크로 배치", check="overflow", atol=AMP_ATOL)
def _infinite_loss(stage: Stage) -> None:
    """The forward pass of one micro-batch overflows: the whole window must be skipped, and the scale fall."""
    first, second, *_ = _windows(stage.env)
    record_scales(stage, "amp_accumulate", [([first[0], overflowing(first[1]), *first[2:]],), (second,)])


@driver.scenario("overflow-clipped", "클리핑을 청했을 때 오버플로가 난 구간", check="overflow", atol=AMP_ATOL)
def _overflow_clipped(stage: Stage) -> None:
    """The measured norm is infinite: the update must still be skipped, and nothing be raised."""
    first, second, *_ = _windows(stage.env)
    windows = [([first[0], overflowing(first[1]), *first[2:]],), (second,)]
    record_scales(stage, "amp_accumulate", windows, max_norm=_OUT_OF_REACH)


@driver.scenario("precision", "autocast의 범위", atol=AMP_ATOL)
def _precision(stage: Stage) -> None:
    """The precision that autocast asks for during forward pass, loss and backward pass."""
    window = _windows(stage.env)[1]

    def call(model: nn.Module, loss_fn: LossFn, dtype: torch.dtype, scaler: Any) -> None:
        stage.recorder.call(
            stage.student("amp_accumulate"), model, sgd(model), loss_fn, window, dtype=dtype, scaler=scaler
        )

    record_precision(stage, call)


@driver.scenario("returns", "반환값", atol=AMP_ATOL)
def _returns(stage: Stage) -> None:
    """Windows of different lengths. Each call gets a model of its own, so that updates do not show."""
    record_returned(stage, "amp_accumulate", [(w,) for w in _windows(stage.env)[:2]], scaled=False)


@driver.scenario("returns-scaled", "스케일러가 있을 때의 반환값", check="returns", atol=AMP_ATOL)
def _returns_scaled(stage: Stage) -> None:
    record_returned(stage, "amp_accumulate", [(w,) for w in _windows(stage.env)[1:3]], scaled=True)


@driver.scenario("modes", "한 계층만 평가 모드인 모델", check="returns", atol=AMP_ATOL)
def _modes(stage: Stage) -> None:
    record_modes(stage, "amp_accumulate", (_windows(stage.env)[2],))


@driver.scenario("memory", "함께 살아 있는 계산 그래프", watches_memory=True)
def _memory(stage: Stage) -> None:
    """One window of four. If it is joined, or run backward once at its end, all of it is alive together."""
    problem, window = _problem(stage.env), _windows(stage.env)[0]
    opt = sgd(problem.model)
    stage.recorder.watch(problem.model, opt, states=False)
    meter = stage.recorder.measure_memory(problem.model)
    inputs, off = [(window,)], [None]
    update_with_limits(stage, "amp_accumulate", problem, opt, inputs, off, dtype=torch.bfloat16, scaler=None)
    record_window_memory(stage, meter, _MICRO)
