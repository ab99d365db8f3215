"""Driver of `lr_range_test`, which returns the losses of updates at given rates and restores everything afterwards.

Promises of the exercise, and the scenarios that check them:
    one update at each rate, in all groups and in the given order: `sgd`, `adamw`
    batches are used again if there are too few: `wraps`
    gradients from before do not count, and no rates mean no update: `stale`
    it ends at a loss of inf, -inf or NaN, which is not returned: `nan`, `inf`, `minus-inf`
    each module's mode stays: `train-mode`, `frozen`, `eval-mode`
    weights, buffers, rates and the optimizer's state are restored: `weights`, `buffers`, `rates`, `moments`, `momentum`
    no gradients are left, on parameters of no optimizer either: `gradients`, `stale`
    after an exception too, which comes out: `interrupted`, `ctrl-c`, `failed-backward`

Returned losses show all updates but the last, because each is computed with the weights that the earlier updates made.
The updates themselves are not recorded, because a program may train a copy of model and optimizer. What the call leaves
behind does not depend on them; most of it is judged in scenarios that do not record the losses.

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from grader.exercises.fixtures.checkpoints import flat_state
from grader.exercises.fixtures.classifiers import (
    CLASSES,
    FEATURES,
    HIDDEN,
    Batch,
    LossFn,
    MakeOptimizer,
    Modes,
    Net,
    adamw,
    batches,
    fill_gradients,
    flat_buffers,
    initialize,
    loss_function,
    mlp,
    momentum_sgd,
    norm_dropout_mlp,
    set_modes,
    sgd,
)
from grader.observe.play import Driver, Env, Stage
from grader.observe.values import as_number, items_of, type_name

driver = Driver("lr_range_test")

_SIZES = (4, 6, 3, 5)
"""Samples in each batch, by which a loss function can tell the batches apart."""


def _rates(env: Env, count: int) -> list[float]:
    """Return rising learning rates that follow from the seed."""
    steps = torch.rand(count, generator=env.generator("rates"), dtype=torch.float64)
    return (0.05 + steps.cumsum(0)).tolist()


def _call(
    stage: Stage,
    model: nn.Module,
    opt: Optimizer,
    data: list[Batch],
    rates: list[float],
    loss_fn: LossFn | None = None,
) -> Any:
    """Watch the model, set a random state, call the learner's function, and return its result.

    The random state, from which dropout draws, follows from seed and scenario. Without `loss_fn`, the loss function is
    that of `loss_function`.
    """
    stage.recorder.watch(model, opt, states=False)
    stage.env.set_random_state("dropout")
    function = stage.student("lr_range_test")
    return stage.recorder.call(function, model, opt, loss_fn or loss_function(stage.env), data, rates)


def _record_losses(stage: Stage, losses: Any) -> None:
    """Record the returned losses: their types, their number and their values."""
    items = items_of(losses)
    stage.recorder.fact("반환 타입", [type_name(losses), *sorted({type_name(item) for item in items})])
    stage.recorder.fact("돌려준 손실의 수", len(items))
    stage.recorder.array("returned", [as_number(item) for item in items])


def _record_forward_passes(stage: Stage, at_least: int) -> None:
    """Record whether there were at least so many forward passes: without any, all is as it was before the call, too."""
    stage.recorder.fact(
        "학습률마다 모델에 배치를 넣어 봄", len(stage.recorder.training_at_forward) >= at_least
    )


def _train_before(env: Env, model: nn.Module, opt: Optimizer, sizes: Sequence[int] = (4, 4)) -> None:
    """Make an update on a batch of each size, so that BatchNorm and optimizer have a state that can be lost."""
    _make_updates(env, model, opt, batches(env, sizes, "before"))


def _make_updates(env: Env, model: nn.Module, opt: Optimizer, data: Sequence[Batch]) -> None:
    """Make one ordinary update for each batch, and leave no gradients."""
    loss_fn = loss_function(env)
    for xb, yb in data:
        opt.zero_grad()
        loss_fn(model(xb), yb).backward()
        opt.step()
    opt.zero_grad()


# ---- the returned losses -------------------------------------------------------------------------


@driver.scenario("sgd", "두 매개변수 그룹의 SGD", check="losses")
def _sgd(stage: Stage) -> None:
    """Record the losses for four rates that are not in order, with two parameter groups.

    A program that sorts the rates, or sets only the first group's, returns other losses.
    """
    model = mlp(stage.env)
    rates = _rates(stage.env, 4)
    rates = [rates[number] for number in (1, 3, 0, 2)]
    _record_losses(stage, _call(stage, model, sgd(model), batches(stage.env, _SIZES), rates))


@driver.scenario("adamw", "학습하던 AdamW", check="losses")
def _adamw(stage: Stage) -> None:
    """Record the losses with an AdamW that has trained before, and with fewer rates than batches.

    A program that updates by hand or with a new optimizer ignores what AdamW remembers of earlier training.
    """
    model = mlp(stage.env)
    opt = adamw(model)
    _train_before(stage.env, model, opt)
    rates = [0.1 * rate for rate in _rates(stage.env, 3)]
    _record_losses(stage, _call(stage, model, opt, batches(stage.env, _SIZES), rates))


@driver.scenario("stale", "그레이디언트가 남아 있던 모델", check="losses")
def _stale(stage: Stage) -> None:
    """Fill the gradients before each of two calls, and record the losses and whether gradients are left.

    A program that clears only after its updates counts gradients from before. In the second call there are no rates,
    and so nothing to do, but gradients must be cleared: a program that clears only inside its loop leaves them.
    """
    recorder = stage.recorder
    model = mlp(stage.env)
    opt, data = sgd(model), batches(stage.env, _SIZES)
    fill_gradients(stage.env, model)
    _record_losses(stage, _call(stage, model, opt, data, _rates(stage.env, 2)))
    recorder.fact("남은 그레이디언트", recorder.gradients_left())
    fill_gradients(stage.env, model)
    losses = recorder.call(stage.student("lr_range_test"), model, opt, loss_function(stage.env), data, [])
    recorder.fact("lrs가 비었을 때의 반환 타입", type_name(losses))
    recorder.fact("lrs가 비었을 때 돌려준 손실의 수", len(items_of(losses)))
    recorder.fact("lrs가 비었을 때 남은 그레이디언트", recorder.gradients_left())


@driver.scenario("wraps", "배치보다 많은 학습률")
def _wraps(stage: Stage) -> None:
    """Give more rates than batches.

    A program that zips rates and batches ends when the batches are used up.
    """
    model = mlp(stage.env)
    data = batches(stage.env, _SIZES[:2])
    _record_losses(stage, _call(stage, model, sgd(model), data, _rates(stage.env, 5)))


# ---- modes ---------------------------------------------------------------------------------------


def _record_losses_and_modes(stage: Stage, mode: Modes) -> None:
    """Call with a model in these modes, and record the losses and the modes afterwards.

    The model has BatchNorm and dropout, so that the losses depend on the modes.
    """
    model = set_modes(norm_dropout_mlp(stage.env), mode)
    _record_losses(stage, _call(stage, model, sgd(model), batches(stage.env, _SIZES), _rates(stage.env, 3)))
    stage.recorder.modes("끝난 뒤의 모드")


@driver.scenario("train-mode", "드롭아웃이 켜진 모델", check="modes")
def _train_mode(stage: Stage) -> None:
    """Give a model in train mode, with dropout.

    A program that calls `model.eval()` computes other losses, without dropout.
    """
    _record_losses_and_modes(stage, Modes.ALL_TRAIN)


@driver.scenario("frozen", "배치 정규화만 평가 모드인 모델", check="modes")
def _frozen(stage: Stage) -> None:
    """Give a model with only BatchNorm in eval mode.

    A program that calls `model.train()` or restores only `model.training` changes BatchNorm's mode.
    """
    _record_losses_and_modes(stage, Modes.NORM_EVAL)


@driver.scenario("eval-mode", "평가 모드의 모델", check="modes")
def _eval_mode(stage: Stage) -> None:
    """Give a model in eval mode.

    A program that calls `model.train()` computes other losses, and may leave the model in train mode.
    """
    _record_losses_and_modes(stage, Modes.ALL_EVAL)


# ---- the end at a loss that is not finite --------------------------------------------------------


def _record_distance_moved(stage: Stage, model: Net, before: Tensor) -> None:
    """Record the L2 distance of weights and buffers from `before`, their `flat_state` before the call."""
    after = flat_state(model.state_dict(), model)
    stage.recorder.array("모델이 옮겨진 거리", (after - before).norm().reshape(1))


def _record_end_at_third_batch(
    stage: Stage, model: Net, data: list[Batch], loss_fn: LossFn | None = None
) -> None:
    """Call with five batches, the third of which makes the loss infinite or NaN; record losses and distance moved."""
    before = flat_state(model.state_dict(), model)
    _record_losses(stage, _call(stage, model, sgd(model), data, _rates(stage.env, 5), loss_fn))
    _record_distance_moved(stage, model, before)


@driver.scenario("nan", "손실이 NaN이 될 때", check="stops")
def _nan(stage: Stage) -> None:
    """Let the third loss be NaN, by an input that is NaN.

    A program that goes on at a NaN, returns it, or does not restore running statistics that hold a NaN, shows.
    """
    data = batches(stage.env, (4, 6, 3, 5, 4))
    data[2][0][0, 0] = torch.nan
    _record_end_at_third_batch(stage, norm_dropout_mlp(stage.env), data)


def _squared_error(output: Tensor, target: Tensor) -> Tensor:
    """Return the mean squared error; squares of float64 overflow above 1e154."""
    return ((output - target) ** 2).mean()


@driver.scenario("inf", "손실이 inf가 될 때", check="stops")
def _inf(stage: Stage) -> None:
    """Let the third loss overflow to infinity; the second is large but finite.

    A program that tests only for NaN, or ends at any large loss, returns another number of losses.
    """
    _record_overflow(stage, 1e60, _squared_error)


@driver.scenario("minus-inf", "손실이 -inf가 될 때", check="stops")
def _minus_inf(stage: Stage) -> None:
    """Let the third loss overflow to minus infinity.

    A program that tests `loss == inf` or `loss > limit` goes on at -inf.
    """
    _record_overflow(stage, 0.0, lambda output, target: -_squared_error(output, target))


def _record_overflow(stage: Stage, second_target: float, loss_fn: LossFn) -> None:
    """Record losses and distance moved of a call in which the third of five losses overflows.

    Args:
        stage: the scenario's stage.
        second_target: target in the second batch. In the third it is 1e200, whose square overflows; in the others 0.
        loss_fn: the loss function: the squared error, or its negative.
    """
    data = [(xb, torch.zeros(len(xb), CLASSES).to(xb)) for xb, _ in batches(stage.env, (4, 6, 3, 5, 4))]
    data[1][1][:] = second_target
    data[2][1][:] = 1e200
    model = initialize(Net([nn.Linear(FEATURES, CLASSES)]), stage.env, "model")
    _record_end_at_third_batch(stage, model, data, loss_fn)


# ---- what is restored ----------------------------------------------------------------------------


@driver.scenario("weights", "가중치", check="restored")
def _weights(stage: Stage) -> None:
    """Record how far the weights are from those before the call.

    A program that restores the weights from `model.state_dict()` without copying them restores nothing.
    """
    model = mlp(stage.env)
    before = flat_state(model.state_dict(), model)
    _call(stage, model, sgd(model), batches(stage.env, _SIZES), _rates(stage.env, 4))
    _record_distance_moved(stage, model, before)
    _record_forward_passes(stage, 4)


@driver.scenario("buffers", "배치 정규화의 이동 통계량", check="restored")
def _buffers(stage: Stage) -> None:
    """Record how far BatchNorm's running statistics are from those before the call.

    A program that restores only parameters leaves BatchNorm's running statistics moved.
    """
    model = norm_dropout_mlp(stage.env)
    _train_before(stage.env, model, sgd(model))
    before = flat_buffers(model).cpu()
    _call(stage, model, sgd(model), batches(stage.env, _SIZES), _rates(stage.env, 4))
    stage.recorder.array("buffers", flat_buffers(model).cpu() - before)
    _record_forward_passes(stage, 4)


@driver.scenario("rates", "그룹마다의 학습률", check="restored")
def _learning_rates(stage: Stage) -> None:
    """Record the learning rate of each group after the call.

    A program that leaves the last rate, or gives every group the rate of the first, shows.
    """
    model = mlp(stage.env)
    opt = sgd(model)
    _call(stage, model, opt, batches(stage.env, _SIZES), _rates(stage.env, 4))
    stage.recorder.array("끝난 뒤의 학습률", [float(group["lr"]) for group in opt.param_groups])
    _record_forward_passes(stage, 4)


def _record_optimizer_state(stage: Stage, make_opt: MakeOptimizer, *, has_trained: bool) -> None:
    """Call the learner's function, and record two updates after it, which show the optimizer's state.

    The driver restores weights and rates before these updates: other scenarios judge whether the program restored them.

    Args:
        stage: the scenario's stage.
        make_opt: makes the optimizer.
        has_trained: make some updates before the call; otherwise the optimizer has no state yet.
    """
    env = stage.env
    model = mlp(env)
    opt = make_opt(model)
    if has_trained:
        _train_before(env, model, opt, (4, 4, 4))
    restore = _restorer(model, opt)
    _call(stage, model, opt, batches(env, _SIZES), [0.1 * rate for rate in _rates(env, 4)])
    restore()
    _record_forward_passes(stage, 4)
    _record_next_updates(stage, model, opt)


def _restorer(model: nn.Module, opt: Optimizer) -> Callable[[], None]:
    """Return a function that restores the model's state and the learning rates to what they are now."""
    state = {name: value.clone() for name, value in model.state_dict().items()}
    rates = [group["lr"] for group in opt.param_groups]

    def restore() -> None:
        model.load_state_dict(state)
        for group, rate in zip(opt.param_groups, rates, strict=True):
            group["lr"] = rate

    return restore


def _record_next_updates(stage: Stage, model: nn.Module, opt: Optimizer) -> None:
    """Make two updates, and record the model after them."""
    stage.env.set_random_state("dropout after")
    _make_updates(stage.env, model, opt, batches(stage.env, (4, 4), "after"))
    stage.recorder.array("다음 두 업데이트 뒤의 가중치", flat_state(model.state_dict(), model))


@driver.scenario("moments", "학습하던 AdamW의 상태", check="restored")
def _moments(stage: Stage) -> None:
    """Record the updates after a call, of an AdamW that had trained before it.

    A program that does not restore AdamW's moments and counts makes other updates afterwards.
    """
    _record_optimizer_state(stage, adamw, has_trained=True)


@driver.scenario("momentum", "새 옵티마이저의 모멘텀", check="restored")
def _momentum(stage: Stage) -> None:
    """Record the updates after a call, of an optimizer with momentum that was new before it.

    A new optimizer has no state. A program that only writes back the states that it found keeps those that arose
    during the call.
    """
    _record_optimizer_state(stage, momentum_sgd, has_trained=False)


@driver.scenario("gradients", "마지막 계층만 학습하는 옵티마이저", check="restored")
def _gradients(stage: Stage) -> None:
    """Give an optimizer that holds the last layer only, and record whether gradients are left.

    A program that clears by `opt.zero_grad()` leaves the gradients of the other layers.
    """
    model = mlp(stage.env)
    last: Any = model.layers[-1]
    opt = torch.optim.SGD(last.parameters(), lr=0.3)
    _record_losses(stage, _call(stage, model, opt, batches(stage.env, _SIZES), _rates(stage.env, 3)))
    stage.recorder.fact("남은 그레이디언트", stage.recorder.gradients_left())


# ---- after an exception --------------------------------------------------------------------------


class _Interruption(ValueError):
    """An exception that a loss function or model raises: a class of our own, so that no other error passes for it."""


def _record_exception(
    stage: Stage, model: Net, opt: Optimizer, loss_fn: LossFn, expected: type[BaseException]
) -> None:
    """Call the learner's function, and record which exception comes out and what the call leaves behind.

    Args:
        stage: the scenario's stage.
        model: the model to train, with BatchNorm or without.
        opt: its optimizer. It is given a state before the call, and so is BatchNorm.
        loss_fn: the loss function. This or the model must raise the exception at the third batch.
        expected: the exception's class.
    """
    recorder = stage.recorder
    _train_before(stage.env, model, opt)
    restore = _restorer(model, opt)
    before = flat_state(model.state_dict(), model)
    recorder.watch(model, opt, states=False)
    recorder.record_raised(
        expected,
        "예외",
        stage.student("lr_range_test"),
        *(model, opt, loss_fn, batches(stage.env, _SIZES), _rates(stage.env, 4)),
    )
    _record_distance_moved(stage, model, before)
    recorder.array("끝난 뒤의 학습률", [float(group["lr"]) for group in opt.param_groups])
    recorder.fact("남은 그레이디언트", recorder.gradients_left())
    _record_forward_passes(stage, 3)
    restore()
    _record_next_updates(stage, model, opt)


def _record_raising_loss(stage: Stage, exception: type[BaseException]) -> None:
    """Let the loss function raise at the third batch, with BatchNorm, dropout and momentum; record what that leaves."""
    true_loss_fn = loss_function(stage.env)

    def loss_fn(output: Tensor, target: Tensor) -> Tensor:
        if len(target) == _SIZES[2]:
            raise exception("손실 함수가 낸 예외")
        return true_loss_fn(output, target)

    model = norm_dropout_mlp(stage.env)
    _record_exception(stage, model, momentum_sgd(model), loss_fn, exception)


@driver.scenario("interrupted", "도중에 예외가 날 때")
def _interrupted(stage: Stage) -> None:
    """Let the loss function raise, and record what is restored.

    A program without `finally` restores nothing when the loss function raises; another swallows the exception.
    """
    _record_raising_loss(stage, _Interruption)


@driver.scenario("ctrl-c", "도중에 Ctrl+C로 멈출 때", check="interrupted")
def _ctrl_c(stage: Stage) -> None:
    """Stop the call as Ctrl+C does, by a KeyboardInterrupt, and record what is restored.

    A program that restores in `except Exception` does not catch Ctrl+C, by which people stop a test that takes long.
    """
    _record_raising_loss(stage, KeyboardInterrupt)


class _FailsBackward(nn.Module):
    """A layer that returns its inputs, and raises in the backward pass of the third batch."""

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the inputs."""
        if inputs.requires_grad and len(inputs) == _SIZES[2]:
            inputs.register_hook(_raise_interruption)
        return inputs


def _raise_interruption(_: Tensor) -> None:
    """Raise an `_Interruption`, as a hook that makes a backward pass fail."""
    raise _Interruption("역전파가 낸 예외")


@driver.scenario("failed-backward", "역전파하다가 예외가 날 때", check="interrupted")
def _failed_backward(stage: Stage) -> None:
    """Let a backward pass raise in the middle, and record what is restored.

    By then, the last layer has a gradient, which a program that does not clear after an exception leaves. (When the
    loss raises, as in `interrupted`, many programs have just cleared the gradients.) This is played on the CPU, because
    on a GPU the hook would raise in a thread of autograd.
    """
    stage = replace(stage, env=replace(stage.env, device=torch.device("cpu")))
    layers = [nn.Linear(FEATURES, HIDDEN), _FailsBackward(), nn.Tanh(), nn.Linear(HIDDEN, CLASSES)]
    model = initialize(Net(layers), stage.env, "model")
    opt = momentum_sgd(model)
    _record_exception(stage, model, opt, loss_function(stage.env), _Interruption)
