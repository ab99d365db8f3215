"""Driver of `amp_step`, which makes one mixed-precision update on a mini-batch and returns the loss before it.

Promises of the exercise, and the scenarios that check them:
    one update in the given precision, without a scaler and with one: `bf16`, `fp16`, `rounding`
    clipping after unscaling, even to 0.0: `bf16`, `fp16`, `zero-norm`, `zero-norm-scaled`
    an overflow changes no parameter, and lowers the scale: `overflow`, `infinite-loss`, `overflow-clipped`
    autocast for forward pass and loss only: `precision`
    the loss before the update, as a float: `returns`, `returns-scaled`; each module's mode stays: `modes`
    no deprecated functions (a promise of the lesson): `deprecated`

The model computes in float64 and only notes the precision to which autocast is set (`AutocastNet`). Its inputs are
numbers that every precision holds exactly, because casting them early is no mistake. In `overflow` and `rounding`, the
model is an ordinary one in float32, which computes in the precision to which autocast is set.

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

import math

import torch

from grader.exercises.fixtures.classifiers import (
    Batch,
    Net,
    batches,
    initialize,
    loss_function,
    sgd,
)
from grader.exercises.fixtures.witnesses import ForwardWitness
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
    make_layers,
    marked_for_infinite_loss,
    max_norms_in_turn,
    record_autocast_precisions,
    record_infinite_losses,
    record_modes_left,
    record_returned,
)
from grader.observe.play import Driver, Env, Problem, Stage

driver = Driver("amp_step")

_SIZES = (4, 3, 5, 2, 4)
"""Samples in each batch."""


def _problem(env: Env) -> Problem:
    """Return model, batches and loss as in `_make_updates`, for the recipe of its updates."""
    return Problem(autocast_net(env), exactly_representable_batches(env, _SIZES), loss_function(env))


def _float32_net(env: Env, salt: str = "model") -> Net:
    """Return a model in float32, the precision that autocast lowers; it leaves float64 alone."""
    net = initialize(Net(make_layers()), env, salt)
    net.float()
    return net


def _float32_batches(env: Env, sizes: tuple[int, ...]) -> list[Batch]:
    """Return batches of these sizes, with inputs in float32, which bfloat16 and float16 round."""
    return [(xb.float(), yb) for xb, yb in batches(env, sizes)]


def _make_updates(stage: Stage, dtype: torch.dtype, scaler: torch.amp.GradScaler | None) -> None:
    """Make one update for each batch, with falling learning rates and the values of `max_norms_in_turn`."""
    env, recorder = stage.env, stage.recorder
    problem = _problem(env)
    norm = initial_gradient_norm(env, problem.batches[0])
    opt = sgd(problem.model)
    recorder.watch(problem.model, opt, batches=[xb for xb, _ in problem.batches])
    max_norms = max_norms_in_turn(norm, with_scaler=scaler is not None)
    call_with_max_norms(
        stage, "amp_step", problem, opt, problem.batches, max_norms, dtype=dtype, scaler=scaler
    )


@driver.scenario("bf16", "bfloat16, 스케일러 없이", atol=AMP_ATOL, problem=_problem)
def _bf16(stage: Stage) -> None:
    """Make updates in bfloat16, without a scaler.

    A program that does not clear `.grad` makes other updates. In `fp16` they differ less: the gradients that are left
    there have been unscaled already, and the new ones are scaled by 4096.
    """
    _make_updates(stage, torch.bfloat16, None)


@driver.scenario("zero-norm", "max_norm=0.0", check="bf16", atol=AMP_ATOL)
def _zero_norm(stage: Stage) -> None:
    """Make one call with `max_norm=0.0`, at which no parameter may move.

    A program that tests `if max_norm:` does not clip at zero, and moves the parameters.
    """
    problem = _problem(stage.env)
    call_with_zero_max_norm(stage, "amp_step", problem, problem.batches[0], with_scaler=False)


@driver.scenario("fp16", "float16과 스케일러", atol=AMP_ATOL, problem=_problem)
def _fp16(stage: Stage) -> None:
    """Make updates in float16, with a scaler.

    A program that clips scaled gradients, or forgets `scaler.update()`, makes other updates or raises.
    """
    _make_updates(stage, torch.float16, grad_scaler(stage.env, init_scale=2.0**12, growth_interval=3))


@driver.scenario("zero-norm-scaled", "스케일러와 max_norm=0.0", check="fp16", atol=AMP_ATOL)
def _zero_norm_scaled(stage: Stage) -> None:
    """Do the same as in `zero-norm`, with a scaler.

    A program with separate branches for both cases may test `if max_norm:` in one branch only.
    """
    problem = _problem(stage.env)
    call_with_zero_max_norm(stage, "amp_step", problem, problem.batches[0], with_scaler=True)


@driver.scenario("overflow", "오버플로가 난 스텝", atol=AMP_ATOL)
def _overflow(stage: Stage) -> None:
    """Begin with a scale at which float16 gradients overflow, and record updates and scales of two calls.

    At the lowered scale of the second call none overflows. A program that calls `opt.step()` instead of
    `scaler.step(opt)` makes an update with infinite gradients.
    """
    env, recorder = stage.env, stage.recorder
    model = _float32_net(env)
    opt = sgd(model)
    scaler = grad_scaler(env, init_scale=OVERFLOWING_SCALE, backoff_factor=OVERFLOW_BACKOFF)
    recorder.watch(model, opt)
    scales = []
    for batch in _float32_batches(env, (4, 4)):
        recorder.call(
            stage.student("amp_step"),
            model,
            opt,
            loss_function(env),
            *batch,
            dtype=torch.float16,
            scaler=scaler,
        )
        scales.append(scaler.get_scale())
    recorder.array("배율", scales)


@driver.scenario("infinite-loss", "손실이 inf인 스텝", check="overflow", atol=AMP_ATOL)
def _infinite_loss(stage: Stage) -> None:
    """Give a batch with an infinite loss, then an ordinary batch, and record updates and scales.

    A program that returns early when the loss is infinite never lowers the scale.
    """
    first, second = exactly_representable_batches(stage.env, (4, 4))
    record_infinite_losses(stage, "amp_step", [marked_for_infinite_loss(first), second])


@driver.scenario("overflow-clipped", "클리핑을 청했을 때 오버플로가 난 스텝", check="overflow", atol=AMP_ATOL)
def _overflow_clipped(stage: Stage) -> None:
    """Do the same as in `infinite-loss`, with a `max_norm`.

    A program that lets the clip raise at an infinite norm (`error_if_nonfinite`) ends here.
    """
    first, second = exactly_representable_batches(stage.env, (4, 4))
    record_infinite_losses(
        stage, "amp_step", [marked_for_infinite_loss(first), second], max_norm=HIGH_MAX_NORM
    )


@driver.scenario("precision", "autocast의 범위", atol=AMP_ATOL)
def _precision(stage: Stage) -> None:
    """Record the precision to which autocast is set in the model, the loss and the backward pass.

    The precision is wrong if autocast leaves out the loss, covers the backward pass or has a fixed precision.
    """
    (batch,) = exactly_representable_batches(stage.env, (4,))
    record_autocast_precisions(stage, "amp_step", batch)


@driver.scenario("rounding", "낮은 정밀도로 계산한 한 스텝", check="bf16", atol=AMP_ATOL)
def _rounding(stage: Stage) -> None:
    """Make one update that is computed in bfloat16 and one in float16, with numbers that these round.

    A program that casts the model or the batch, instead of using autocast, rounds differently. Only the first update of
    a model is compared, because rounding makes right programs differ later.
    """
    env, recorder = stage.env, stage.recorder
    calls = ((torch.bfloat16, None), (torch.float16, grad_scaler(env, init_scale=2.0**8)))
    for number, (dtype, scaler) in enumerate(calls):
        model = _float32_net(env, f"model {number}")
        opt = sgd(model)
        recorder.watch(model, opt)
        (batch,) = _float32_batches(env, (6,))
        recorder.call(
            stage.student("amp_step"), model, opt, loss_function(env), *batch, dtype=dtype, scaler=scaler
        )


@driver.scenario("returns", "반환값", atol=AMP_ATOL)
def _returns(stage: Stage) -> None:
    """Record what is returned without a scaler.

    A program that returns the loss after the update, or a tensor, returns another number or type.
    """
    record_returned(
        stage, "amp_step", exactly_representable_batches(stage.env, _SIZES[:2]), with_scaler=False
    )


@driver.scenario("returns-scaled", "스케일러가 있을 때의 반환값", check="returns", atol=AMP_ATOL)
def _returns_scaled(stage: Stage) -> None:
    """Record what is returned with a scaler.

    A program that returns the scaled loss returns another number.
    """
    record_returned(
        stage, "amp_step", exactly_representable_batches(stage.env, _SIZES[1:3]), with_scaler=True
    )


@driver.scenario("modes", "한 계층만 평가 모드인 모델", check="returns", atol=AMP_ATOL)
def _modes(stage: Stage) -> None:
    """Hand over a model with one layer in eval mode and one wholly in eval mode; record the modes afterwards.

    A program that calls `model.train()` changes the modes that it found.
    """
    (batch,) = exactly_representable_batches(stage.env, (4,))
    record_modes_left(stage, "amp_step", batch)


@driver.scenario("deprecated", "더는 쓰지 않는 API", atol=AMP_ATOL)
def _deprecated(stage: Stage) -> None:
    """Record whether calls make torch warn of deprecated functions.

    A program that calls `torch.cuda.amp.autocast` or the like makes torch warn by a FutureWarning.
    """
    env, recorder = stage.env, stage.recorder
    model = autocast_net(env)
    opt = sgd(model)
    inputs, targets = exactly_representable_batches(env, _SIZES)[0]
    witness = ForwardWitness(env, model)
    for scaler, dtype in ((None, torch.bfloat16), (grad_scaler(env, init_scale=2.0**6), torch.float16)):
        recorder.call(
            stage.student("amp_step"),
            model,
            opt,
            loss_function(env),
            inputs,
            targets,
            dtype=dtype,
            scaler=scaler,
        )
    warnings = recorder.warned.count("FutureWarning")
    # A program that does nothing is not warned either. So record whether there was a forward pass. The witness depends
    # on the inputs of the first pass, and so on the seed; without a pass it is NaN.
    recorder.fact("순전파", "하지 않음" if math.isnan(witness.first_sum) else "했음")
    recorder.claim("FutureWarning", "있음" if warnings else "없음", [witness.first_sum * (1 + warnings)])
