"""Driver of `amp_step`, which makes one mixed-precision update on a mini-batch and returns the loss before it.

Promises of the exercise, and the scenarios that check them:
    one update in the given precision, without a scaler and with one: `bf16`, `fp16`, `rounding`
    clipping after unscaling, and 0.0 is a limit too: `bf16`, `fp16`, `zero-norm`,
        `zero-norm-scaled`
    an overflow changes no parameter, and lowers the scale: `overflow`, `infinite-loss`, `overflow-clipped`
    autocast for forward pass and loss only: `precision`
    the loss before the update, as a float: `returns`, `returns-scaled`; modes stay: `modes`
    no deprecated functions (a promise of the lesson): `deprecated`

The model computes in float64 and only notes the precision that autocast asks for (`AutocastNet`), except in `overflow`
and `rounding`, where it computes in that precision.
"""

import math
from typing import Any

import torch
from torch import nn

from grader.exercises.fixtures.classifiers import (
    Batch,
    LossFn,
    Net,
    batches,
    initialize,
    loss_function,
    sgd,
)
from grader.exercises.fixtures.witnesses import ForwardWitness
from grader.exercises.loop_anatomy._mixed_precision import (
    AMP_ATOL,
    NEVER_CLIPS,
    autocast_net,
    exactly_representable_batches,
    grad_scaler,
    initial_gradient_norm,
    make_layers,
    record_autocast_precisions,
    record_modes_left,
    record_returned,
    record_updates_and_scales,
    update_with_limit_zero,
    update_with_limits,
    with_infinite_loss,
)
from grader.observe.play import Driver, Env, Problem, Stage

driver = Driver("amp_step")

_SIZES = (4, 3, 5, 2, 4)
"""Samples in each batch."""


def _problem(env: Env) -> Problem:
    """Return model, batches and loss, for the recipe of an update."""
    return Problem(autocast_net(env), exactly_representable_batches(env, _SIZES), loss_function(env))


def _rounding_net(env: Env, salt: str = "model") -> Net:
    """Return a float32 model, in which autocast really computes in low precision."""
    net = initialize(Net(make_layers()), env, salt)
    net.float()
    return net


def _rounding_data(env: Env, sizes: tuple[int, ...]) -> list[Batch]:
    """Return float32 batches of these sizes, for `_rounding_net`."""
    return [(xb.float(), yb) for xb, yb in batches(env, sizes)]


def _make_updates(stage: Stage, dtype: torch.dtype, scaler: torch.amp.GradScaler | None) -> None:
    """Make one update for each batch, with falling learning rates.

    The values of `max_norm` in turn: None, one that clips, one that is too high to clip, and two that clip.

    With a scaler, the first call clips and the second has None, because then a program that forgets `scaler.update()`
    makes no second update.
    """
    env, recorder = stage.env, stage.recorder
    problem = _problem(env)
    norm = initial_gradient_norm(env, problem.batches[0])
    opt = sgd(problem.model)
    recorder.watch(problem.model, opt, batches=[xb for xb, _ in problem.batches])
    first_two = (None, 0.4 * norm) if scaler is None else (0.4 * norm, None)
    limits = (*first_two, 50.0 * norm, 0.3 * norm, 0.2 * norm)
    update_with_limits(stage, "amp_step", problem, opt, problem.batches, limits, dtype=dtype, scaler=scaler)


@driver.scenario("bf16", "bfloat16, 스케일러 없이", atol=AMP_ATOL, problem=_problem)
def _bf16(stage: Stage) -> None:
    """Make updates in bfloat16, without a scaler.

    A program that does not clear makes other updates; beside gradients scaled by 4096 (`fp16`) that hardly shows.
    """
    _make_updates(stage, torch.bfloat16, None)


@driver.scenario("zero-norm", "max_norm=0.0", check="bf16", atol=AMP_ATOL)
def _zero_norm(stage: Stage) -> None:
    """Make one call with a limit of 0, at which no parameter may move.

    A program that asks `if max_norm:` does not clip at zero, and moves the parameters.
    """
    problem = _problem(stage.env)
    update_with_limit_zero(stage, "amp_step", problem, problem.batches[0], with_scaler=False)


@driver.scenario("fp16", "float16과 스케일러", atol=AMP_ATOL, problem=_problem)
def _fp16(stage: Stage) -> None:
    """Make updates in float16, with a scaler.

    A program that clips scaled gradients, or forgets `scaler.update()`, makes other updates or raises.
    """
    _make_updates(stage, torch.float16, grad_scaler(stage.env, init_scale=2.0**12, growth_interval=3))


@driver.scenario("zero-norm-scaled", "스케일러와 max_norm=0.0", check="fp16", atol=AMP_ATOL)
def _zero_norm_scaled(stage: Stage) -> None:
    """Do the same as in `zero-norm`, with a scaler.

    A program with a branch for each may ask `if max_norm:` in one of them only.
    """
    problem = _problem(stage.env)
    update_with_limit_zero(stage, "amp_step", problem, problem.batches[0], with_scaler=True)


@driver.scenario("overflow", "오버플로가 난 스텝", atol=AMP_ATOL)
def _overflow(stage: Stage) -> None:
    """Begin with a scale at which every float16 gradient overflows, and record updates and scales.

    At the lowered scale none overflows. A program that calls `opt.step()` instead of `scaler.step(opt)` makes an update
    with infinite gradients.
    """
    env, recorder = stage.env, stage.recorder
    model = _rounding_net(env)
    opt = sgd(model)
    scaler = grad_scaler(env, init_scale=2.0**40, backoff_factor=2.0**-32)
    recorder.watch(model, opt)
    scales = []
    for batch in _rounding_data(env, (4, 4)):
        recorder.call(
            stage.student("amp_step"),
            *(model, opt, loss_function(env), *batch),
            dtype=torch.float16,
            scaler=scaler,
        )
        scales.append(scaler.get_scale())
    recorder.array("배율", scales)


@driver.scenario("infinite-loss", "손실이 inf인 스텝", check="overflow", atol=AMP_ATOL)
def _infinite_loss(stage: Stage) -> None:
    """Give a batch with an infinite loss and an ordinary one, and record updates and scales.

    A program that returns early when the loss is infinite never lowers the scale.
    """
    first, second = exactly_representable_batches(stage.env, (4, 4))
    record_updates_and_scales(stage, "amp_step", [with_infinite_loss(first), second])


@driver.scenario("overflow-clipped", "클리핑을 청했을 때 오버플로가 난 스텝", check="overflow", atol=AMP_ATOL)
def _overflow_clipped(stage: Stage) -> None:
    """Do the same as in `infinite-loss`, with a limit for the norm.

    A program that lets the clip raise at an infinite norm (`error_if_nonfinite`) ends here.
    """
    first, second = exactly_representable_batches(stage.env, (4, 4))
    record_updates_and_scales(stage, "amp_step", [with_infinite_loss(first), second], max_norm=NEVER_CLIPS)


@driver.scenario("precision", "autocast의 범위", atol=AMP_ATOL)
def _precision(stage: Stage) -> None:
    """Record in which precision the model, the loss and the backward pass compute.

    A program whose autocast leaves out the loss, covers the backward pass or has a fixed precision shows.
    """
    (batch,) = exactly_representable_batches(stage.env, (4,))

    def call(model: nn.Module, loss_fn: LossFn, dtype: torch.dtype, scaler: Any) -> None:
        stage.recorder.call(
            stage.student("amp_step"), model, sgd(model), loss_fn, *batch, dtype=dtype, scaler=scaler
        )

    record_autocast_precisions(stage, call)


@driver.scenario("rounding", "낮은 정밀도로 계산한 한 스텝", check="bf16", atol=AMP_ATOL)
def _rounding(stage: Stage) -> None:
    """Make one update in real bfloat16 and one in real float16, with numbers that these round.

    A program that casts the model or the batch, instead of using autocast, rounds differently. Only the first update of
    a model is compared, because rounding makes right programs differ later.
    """
    env, recorder = stage.env, stage.recorder
    for number, dtype in enumerate((torch.bfloat16, torch.float16)):
        model = _rounding_net(env, f"model {number}")
        opt = sgd(model)
        recorder.watch(model, opt)
        scaler = grad_scaler(env, init_scale=2.0**8) if number else None
        (batch,) = _rounding_data(env, (6,))
        recorder.call(
            stage.student("amp_step"), model, opt, loss_function(env), *batch, dtype=dtype, scaler=scaler
        )


@driver.scenario("returns", "반환값", atol=AMP_ATOL)
def _returns(stage: Stage) -> None:
    """Record what is returned without a scaler.

    A program that returns the loss after the update, or a tensor, shows.
    """
    record_returned(
        stage, "amp_step", exactly_representable_batches(stage.env, _SIZES[:2]), with_scaler=False
    )


@driver.scenario("returns-scaled", "스케일러가 있을 때의 반환값", check="returns", atol=AMP_ATOL)
def _returns_scaled(stage: Stage) -> None:
    """Record what is returned with a scaler.

    A program that returns the scaled loss shows.
    """
    record_returned(
        stage, "amp_step", exactly_representable_batches(stage.env, _SIZES[1:3]), with_scaler=True
    )


@driver.scenario("modes", "한 계층만 평가 모드인 모델", check="returns", atol=AMP_ATOL)
def _modes(stage: Stage) -> None:
    """Hand over a model with one layer in eval mode, and record the modes afterwards.

    A program that calls `model.train()` changes the modes that it found.
    """
    (batch,) = exactly_representable_batches(stage.env, (4,))
    record_modes_left(stage, "amp_step", batch)


@driver.scenario("deprecated", "더는 쓰지 않는 API", atol=AMP_ATOL)
def _deprecated(stage: Stage) -> None:
    """Record whether a call makes torch warn of functions that are no longer to be used.

    A program that calls `torch.cuda.amp.autocast` or the like makes torch warn by a FutureWarning.
    """
    env, recorder = stage.env, stage.recorder
    problem = _problem(env)
    opt = sgd(problem.model)
    model: Any = problem.model
    witness = ForwardWitness(env, model)
    for scaler, dtype in ((None, torch.bfloat16), (grad_scaler(env, init_scale=2.0**6), torch.float16)):
        recorder.call(
            stage.student("amp_step"),
            *(problem.model, opt, problem.loss_fn, *problem.batches[0]),
            dtype=dtype,
            scaler=scaler,
        )
    warnings = recorder.warned.count("FutureWarning")
    recorder.fact("순전파", "하지 않음" if math.isnan(witness.first_sum) else "했음")
    recorder.claim("FutureWarning", "있음" if warnings else "없음", [witness.first_sum * (1 + warnings)])
