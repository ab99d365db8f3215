"""Driver of `amp_accumulate`, which makes one mixed-precision update from a window of micro-batches of equal size.

Promises of the exercise, and the scenarios that check them:
    one update from the window's mean loss, in bfloat16 and with a scaler in float16: `bf16`, `fp16`
    one unscaling and one clipping for the window, even to 0.0: `bf16`, `fp16`, `zero-norm`, `zero-norm-scaled`
    an overflow changes no parameter, and lowers the scale: `overflow`, `infinite-loss`, `overflow-clipped`
    autocast in the given precision for forward passes and losses only: `precision`
    the window's mean loss, as a float: `returns`, `returns-scaled`; each module's mode stays: `modes`
    one micro-batch's graph at a time: `memory`, `memory-scaled`

The model computes in float64 and only notes the precision to which autocast is set (`AutocastNet`). Its inputs are
numbers that every precision holds exactly, because casting them early is no mistake.

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from itertools import islice

import torch
from torch import Tensor

from grader.exercises.fixtures.classifiers import Batch, concatenated, loss_function, sgd
from grader.exercises.fixtures.memory import record_window_memory
from grader.exercises.loop_anatomy._mixed_precision import (
    AMP_ATOL,
    HIGH_MAX_NORM,
    OVERFLOW_BACKOFF,
    OVERFLOWING_SCALE,
    autocast_net,
    call_with_max_norms,
    call_with_zero_max_norm,
    exactly_representable_batches,
    grad_scaler,
    initial_gradient_norm,
    marked_for_infinite_loss,
    max_norms_in_turn,
    record_autocast_precisions,
    record_infinite_losses,
    record_modes_left,
    record_returned,
)
from grader.observe.play import Driver, Env, Problem, Stage

driver = Driver("amp_accumulate")

_MICRO_BATCH_SIZE = 3
"""Samples in each micro-batch."""

_WINDOW_LENGTHS = (4, 3, 1, 4)
"""Micro-batches in each window. The lengths differ, so that a loss that is divided by a fixed number shows."""


def _micro_batches(env: Env) -> list[Batch]:
    """Return the micro-batches of all windows."""
    return exactly_representable_batches(env, (_MICRO_BATCH_SIZE,) * sum(_WINDOW_LENGTHS))


def _windows(env: Env) -> list[list[Batch]]:
    """Return the micro-batches of each window."""
    micro_batches = iter(_micro_batches(env))
    return [list(islice(micro_batches, length)) for length in _WINDOW_LENGTHS]


def _problem(env: Env) -> Problem:
    """Return model, micro-batches and loss as in `_make_updates`, for the recipe of its updates."""
    return Problem(autocast_net(env), _micro_batches(env), loss_function(env))


def _make_updates(stage: Stage, dtype: torch.dtype, scaler: torch.amp.GradScaler | None) -> None:
    """Make one update for each window, with falling learning rates and the values of `max_norms_in_turn`."""
    env, recorder = stage.env, stage.recorder
    problem = _problem(env)
    windows = _windows(env)
    norm = initial_gradient_norm(env, concatenated(windows[0]))
    opt = sgd(problem.model)
    recorder.watch(problem.model, opt, batches=[xb for xb, _ in problem.batches])
    calls = [(window,) for window in windows]
    max_norms = max_norms_in_turn(norm, with_scaler=scaler is not None)[: len(windows)]
    call_with_max_norms(stage, "amp_accumulate", problem, opt, calls, max_norms, dtype=dtype, scaler=scaler)


@driver.scenario("bf16", "bfloat16, 스케일러 없이", atol=AMP_ATOL, problem=_problem)
def _bf16(stage: Stage) -> None:
    """Make updates in bfloat16, without a scaler.

    A program that clips each micro-batch, or does not divide by the window's length, makes other updates.
    """
    _make_updates(stage, torch.bfloat16, None)


@driver.scenario("zero-norm", "max_norm=0.0", check="bf16", atol=AMP_ATOL)
def _zero_norm(stage: Stage) -> None:
    """Make one call with `max_norm=0.0`, at which no parameter may move.

    A program that tests `if max_norm:` does not clip at zero, and moves the parameters.
    """
    window = _windows(stage.env)[0]
    call_with_zero_max_norm(stage, "amp_accumulate", _problem(stage.env), (window,), with_scaler=False)


@driver.scenario("fp16", "float16과 스케일러", atol=AMP_ATOL, problem=_problem)
def _fp16(stage: Stage) -> None:
    """Make updates in float16, with a scaler whose scale grows after every second update.

    So the scale changes between the four calls. A program that clips scaled gradients, or unscales or updates at each
    micro-batch, makes other updates or raises.
    """
    _make_updates(stage, torch.float16, grad_scaler(stage.env, init_scale=2.0**10, growth_interval=2))


@driver.scenario("zero-norm-scaled", "스케일러와 max_norm=0.0", check="fp16", atol=AMP_ATOL)
def _zero_norm_scaled(stage: Stage) -> None:
    """Do the same as in `zero-norm`, with a scaler and a single micro-batch.

    A program with separate branches for both cases may test `if max_norm:` in one branch only. There is one
    micro-batch, so that a program which unscales or clips at each micro-batch is right here, and shows in `fp16`.
    """
    window = _windows(stage.env)[0][:1]
    call_with_zero_max_norm(stage, "amp_accumulate", _problem(stage.env), (window,), with_scaler=True)


_LOSS_FACTOR = 1e300
"""Factor of the losses whose scaled gradients are to be infinite: times `OVERFLOWING_SCALE`, it is infinite in float64,
in which the model computes. The losses themselves stay finite."""


@driver.scenario("overflow", "오버플로가 난 구간", atol=AMP_ATOL)
def _overflow(stage: Stage) -> None:
    """Let gradients overflow in the first of two windows, and record updates and scales.

    The loss of the first window is so large that its scaled gradients are infinite. A program that calls `opt.step()`
    instead of `scaler.step(opt)` makes an update with them; one that forgets `scaler.update()` keeps the scale.
    """
    env, recorder = stage.env, stage.recorder
    problem = _problem(env)
    opt = sgd(problem.model)
    scaler = grad_scaler(env, init_scale=OVERFLOWING_SCALE, backoff_factor=OVERFLOW_BACKOFF)
    recorder.watch(problem.model, opt)
    scales = []
    for window, factor in zip(_windows(env)[:2], (_LOSS_FACTOR, 1.0), strict=True):

        def loss_fn(output: Tensor, target: Tensor, factor: float = factor) -> Tensor:
            return problem.loss_fn(output, target) * factor

        student = stage.student("amp_accumulate")
        recorder.call(student, problem.model, opt, loss_fn, window, dtype=torch.float16, scaler=scaler)
        scales.append(scaler.get_scale())
    recorder.array("배율", scales)


def _infinite_and_ordinary(env: Env) -> list[tuple[list[Batch]]]:
    """Return the arguments of two calls: a window with one micro-batch of infinite loss, then an ordinary window."""
    first, second, *_ = _windows(env)
    with_infinite_loss = [first[0], marked_for_infinite_loss(first[1]), *first[2:]]
    return [(with_infinite_loss,), (second,)]


@driver.scenario("infinite-loss", "손실이 inf인 마이크로 배치", check="overflow", atol=AMP_ATOL)
def _infinite_loss(stage: Stage) -> None:
    """Give a window with one infinite loss, then an ordinary window, and record updates and scales.

    A program that skips only the micro-batch whose loss is infinite updates on the others, and keeps the scale.
    """
    record_infinite_losses(stage, "amp_accumulate", _infinite_and_ordinary(stage.env))


@driver.scenario("overflow-clipped", "클리핑을 청했을 때 오버플로가 난 구간", check="overflow", atol=AMP_ATOL)
def _overflow_clipped(stage: Stage) -> None:
    """Do the same as in `infinite-loss`, with a `max_norm`.

    A program that lets the clip raise at an infinite norm (`error_if_nonfinite`) ends here.
    """
    calls = _infinite_and_ordinary(stage.env)
    record_infinite_losses(stage, "amp_accumulate", calls, max_norm=HIGH_MAX_NORM)


@driver.scenario("precision", "autocast의 범위", atol=AMP_ATOL)
def _precision(stage: Stage) -> None:
    """Record the precision to which autocast is set in the model, the loss and the backward pass.

    The precision is wrong if autocast leaves out the loss, covers the backward pass or has a fixed precision.
    """
    window = _windows(stage.env)[1]
    record_autocast_precisions(stage, "amp_accumulate", (window,))


@driver.scenario("returns", "반환값", atol=AMP_ATOL)
def _returns(stage: Stage) -> None:
    """Record what is returned without a scaler.

    A program that returns the sum of the losses, the last one or a tensor returns another number or type. The windows
    differ in length, so a sum is not the mean times a fixed factor.
    """
    record_returned(stage, "amp_accumulate", [(w,) for w in _windows(stage.env)[:2]], with_scaler=False)


@driver.scenario("returns-scaled", "스케일러가 있을 때의 반환값", check="returns", atol=AMP_ATOL)
def _returns_scaled(stage: Stage) -> None:
    """Record what is returned with a scaler.

    A program that returns the scaled loss returns another number. The call that clips has a single micro-batch: a
    program that unscales before each clip, and clips at each micro-batch, is right here.
    """
    record_returned(stage, "amp_accumulate", [(w,) for w in _windows(stage.env)[1:3]], with_scaler=True)


@driver.scenario("modes", "한 계층만 평가 모드인 모델", check="returns", atol=AMP_ATOL)
def _modes(stage: Stage) -> None:
    """Hand over a model with one layer in eval mode and one wholly in eval mode; record the modes afterwards.

    A program that calls `model.train()` changes the modes that it found.
    """
    record_modes_left(stage, "amp_accumulate", (_windows(stage.env)[2],))


def _record_memory(stage: Stage, *, with_scaler: bool) -> None:
    """Record how many micro-batches' graphs are alive at the same time during a call with a window."""
    problem, window = _problem(stage.env), _windows(stage.env)[0]
    opt = sgd(problem.model)
    stage.recorder.watch(problem.model, opt, states=False)
    meter = stage.recorder.measure_memory(problem.model)
    calls, max_norms = [(window,)], [None]
    scaler = grad_scaler(stage.env, init_scale=2.0**8) if with_scaler else None
    dtype = torch.float16 if with_scaler else torch.bfloat16
    call_with_max_norms(stage, "amp_accumulate", problem, opt, calls, max_norms, dtype=dtype, scaler=scaler)
    record_window_memory(stage, meter, _MICRO_BATCH_SIZE)


@driver.scenario("memory", "함께 살아 있는 계산 그래프", watches_memory=True)
def _memory(stage: Stage) -> None:
    """Record how many micro-batches' graphs are alive at the same time, without a scaler.

    A program that concatenates the micro-batches, or runs one backward pass at the end, holds all the window's graphs
    together.
    """
    _record_memory(stage, with_scaler=False)


@driver.scenario(
    "memory-scaled", "스케일러가 있을 때 함께 살아 있는 계산 그래프", check="memory", watches_memory=True
)
def _memory_scaled(stage: Stage) -> None:
    """Do the same as in `memory`, with a scaler.

    A program with separate branches for both cases may hold graphs in one branch only.
    """
    _record_memory(stage, with_scaler=True)
