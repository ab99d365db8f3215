"""Driver of `lr_range_test`, which returns the losses of updates at rising rates and restores everything afterwards.

Losses show every update, because each is computed with the weights that the earlier updates made. What is left behind
does not depend on them, and is judged in scenarios of its own. A solution may train a copy of model and optimizer, so
the updates themselves are not recorded.
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
    initialize,
    loss_function,
    mlp,
    norm_dropout_mlp,
    set_modes,
    sgd,
)
from grader.observe.play import Driver, Env, Stage
from grader.observe.values import as_number, items_of, type_name

driver = Driver("lr_range_test")

_SIZES = (4, 6, 3, 5)
"""Samples in each batch; no two batches are alike."""


def _rates(env: Env, count: int) -> list[float]:
    """Return rising learning rates that a learner cannot know beforehand."""
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
    """Call the student's function from a random state that follows from the scenario, and return its result."""
    stage.recorder.watch(model, opt, states=False)
    stage.env.set_random_state("dropout")
    function = stage.student("lr_range_test")
    return stage.recorder.call(function, model, opt, loss_fn or loss_function(stage.env), data, rates)


def _record_losses(stage: Stage, losses: Any) -> None:
    """Record the returned losses, with their types: a list of plain numbers."""
    items = items_of(losses)
    stage.recorder.fact("반환 타입", [type_name(losses), *sorted({type_name(item) for item in items})])
    stage.recorder.fact("돌려준 손실의 수", len(items))
    stage.recorder.array("returned", [as_number(item) for item in items])


def _record_that_it_looked(stage: Stage, times: int) -> None:
    """Record that the model was called: a function that ignores the model changes nothing in it, and must not pass."""
    stage.recorder.fact("학습률마다 모델에 배치를 넣어 봄", len(stage.recorder.training_at_forward) >= times)


def _trained(env: Env, model: nn.Module, opt: Optimizer, sizes: Sequence[int] = (4, 4)) -> None:
    """Make a few updates of the driver's own, so that there are statistics and moments to lose."""
    _update(env, model, opt, batches(env, sizes, "before"))


def _update(env: Env, model: nn.Module, opt: Optimizer, data: Sequence[Batch]) -> None:
    """Make ordinary updates with the driver's own loop."""
    loss_fn = loss_function(env)
    for xb, yb in data:
        opt.zero_grad()
        loss_fn(model(xb), yb).backward()
        opt.step()
    opt.zero_grad()


@driver.scenario("sgd", "두 매개변수 그룹의 SGD", check="losses")
def _sgd(stage: Stage) -> None:
    """The rates neither rise nor fall steadily."""
    model = mlp(stage.env)
    rates = _rates(stage.env, 4)
    rates = [rates[number] for number in (1, 3, 0, 2)]
    _record_losses(stage, _call(stage, model, sgd(model), batches(stage.env, _SIZES), rates))


@driver.scenario("adamw", "학습하던 AdamW", check="losses")
def _adamw(stage: Stage) -> None:
    """An optimizer whose moments must carry over from earlier training; fewer rates than batches."""
    model = mlp(stage.env)
    opt = adamw(model)
    _trained(stage.env, model, opt)
    rates = [0.1 * rate for rate in _rates(stage.env, 3)]
    _record_losses(stage, _call(stage, model, opt, batches(stage.env, _SIZES), rates))


@driver.scenario("stale", "그레이디언트가 남아 있던 모델", check="losses")
def _stale(stage: Stage) -> None:
    """Gradients that are there before the call.

    A second call has no rates: nothing to do, but gradients must be cleared.
    """
    recorder = stage.recorder
    model = mlp(stage.env)
    opt, data = sgd(model), batches(stage.env, _SIZES)
    fill_gradients(stage.env, model)
    _record_losses(stage, _call(stage, model, opt, data, _rates(stage.env, 2)))
    recorder.fact("남은 그레이디언트", recorder.gradients_left())
    fill_gradients(stage.env, model)
    nothing = recorder.call(stage.student("lr_range_test"), model, opt, loss_function(stage.env), data, [])
    recorder.fact("lrs가 비었을 때의 반환 타입", type_name(nothing))
    recorder.fact("lrs가 비었을 때 돌려준 손실의 수", len(items_of(nothing)))
    recorder.fact("lrs가 비었을 때 남은 그레이디언트", recorder.gradients_left())


@driver.scenario("wraps", "배치보다 많은 학습률")
def _wraps(stage: Stage) -> None:
    """More rates than batches: the batches are used again from the start."""
    model = mlp(stage.env)
    data = batches(stage.env, _SIZES[:2])
    _record_losses(stage, _call(stage, model, sgd(model), data, _rates(stage.env, 5)))


def _with_modes(stage: Stage, mode: Modes) -> None:
    """Record losses and modes with BatchNorm and dropout, so that losses depend on each module's mode."""
    model = set_modes(norm_dropout_mlp(stage.env), mode)
    _record_losses(stage, _call(stage, model, sgd(model), batches(stage.env, _SIZES), _rates(stage.env, 3)))
    stage.recorder.modes("끝난 뒤의 모드")


@driver.scenario("train-mode", "드롭아웃이 켜진 모델", check="modes")
def _train_mode(stage: Stage) -> None:
    _with_modes(stage, Modes.ALL_TRAIN)


@driver.scenario("frozen", "배치 정규화만 평가 모드인 모델", check="modes")
def _frozen(stage: Stage) -> None:
    _with_modes(stage, Modes.NORM_EVAL)


@driver.scenario("eval-mode", "평가 모드의 모델", check="modes")
def _eval_mode(stage: Stage) -> None:
    _with_modes(stage, Modes.ALL_EVAL)


def _record_model(stage: Stage, model: Net, before: Tensor) -> None:
    """Record how far weights and buffers are from where they were before the call."""
    after = flat_state(model.state_dict(), model)
    stage.recorder.array("모델이 옮겨진 거리", (after - before).norm().reshape(1))


def _not_finite(stage: Stage, model: Net, data: list[Batch], loss_fn: LossFn | None = None) -> None:
    """The third of five batches spoils the loss; the batches after it are good."""
    before = flat_state(model.state_dict(), model)
    _record_losses(stage, _call(stage, model, sgd(model), data, _rates(stage.env, 5), loss_fn))
    _record_model(stage, model, before)


@driver.scenario("nan", "손실이 NaN이 될 때", check="stops")
def _nan(stage: Stage) -> None:
    """A NaN in the inputs reaches the running statistics as well."""
    data = batches(stage.env, (4, 6, 3, 5, 4))
    data[2][0][0, 0] = torch.nan
    _not_finite(stage, norm_dropout_mlp(stage.env), data)


def _squared_error(output: Tensor, target: Tensor) -> Tensor:
    return ((output - target) ** 2).mean()


@driver.scenario("inf", "손실이 inf가 될 때", check="stops")
def _inf(stage: Stage) -> None:
    """Squares of float64 overflow above 1e154. The large loss before that is still finite."""
    _overflowing(stage, 1e60, _squared_error)


@driver.scenario("minus-inf", "손실이 -inf가 될 때", check="stops")
def _minus_inf(stage: Stage) -> None:
    _overflowing(stage, 0.0, lambda output, target: -_squared_error(output, target))


def _overflowing(stage: Stage, before: float, loss_fn: LossFn) -> None:
    """Targets are zero, except for `before` in the second batch and an overflowing value in the third."""
    data = [(xb, torch.zeros(len(xb), 3).to(xb)) for xb, _ in batches(stage.env, (4, 6, 3, 5, 4))]
    data[1][1][:] = before
    data[2][1][:] = 1e200
    model = initialize(Net([nn.Linear(5, 3)]), stage.env, "model")
    _not_finite(stage, model, data, loss_fn)


@driver.scenario("weights", "가중치", check="restored")
def _weights(stage: Stage) -> None:
    """The weights must be restored."""
    model = mlp(stage.env)
    before = flat_state(model.state_dict(), model)
    _call(stage, model, sgd(model), batches(stage.env, _SIZES), _rates(stage.env, 4))
    _record_model(stage, model, before)
    _record_that_it_looked(stage, 4)


@driver.scenario("buffers", "배치 정규화의 이동 통계량", check="restored")
def _buffers(stage: Stage) -> None:
    """BatchNorm's running statistics must be restored."""
    model = norm_dropout_mlp(stage.env)
    _trained(stage.env, model, sgd(model))
    before = torch.cat([buffer.double().cpu().ravel() for buffer in model.buffers()])
    _call(stage, model, sgd(model), batches(stage.env, _SIZES), _rates(stage.env, 4))
    after = torch.cat([buffer.double().cpu().ravel() for buffer in model.buffers()])
    stage.recorder.array("buffers", after - before)
    _record_that_it_looked(stage, 4)


@driver.scenario("rates", "그룹마다의 학습률", check="restored")
def _learning_rates(stage: Stage) -> None:
    """Each group's learning rate must be restored."""
    model = mlp(stage.env)
    opt = sgd(model)
    _call(stage, model, opt, batches(stage.env, _SIZES), _rates(stage.env, 4))
    stage.recorder.array("끝난 뒤의 학습률", [float(group["lr"]) for group in opt.param_groups])
    _record_that_it_looked(stage, 4)


def _next_update(stage: Stage, make_opt: MakeOptimizer, *, fresh: bool) -> None:
    """Record the updates after the call, which show the optimizer's state.

    Weights and rates are put back first, so that they make no difference.
    """
    env = stage.env
    model = mlp(env)
    opt = make_opt(model)
    if not fresh:
        _trained(env, model, opt, (4, 4, 4))
    put_right = _remembered(model, opt)
    _call(stage, model, opt, batches(env, _SIZES), [0.1 * rate for rate in _rates(env, 4)])
    put_right()
    _record_that_it_looked(stage, 4)
    _record_next_update(stage, model, opt)


def _remembered(model: nn.Module, opt: Optimizer) -> Callable[[], None]:
    """Return a function that puts model and rates back to what they are now."""
    state = {name: value.clone() for name, value in model.state_dict().items()}
    rates = [group["lr"] for group in opt.param_groups]

    def put_right() -> None:
        model.load_state_dict(state)
        for group, rate in zip(opt.param_groups, rates, strict=True):
            group["lr"] = rate

    return put_right


def _record_next_update(stage: Stage, model: nn.Module, opt: Optimizer) -> None:
    stage.env.set_random_state("dropout after")
    _update(stage.env, model, opt, batches(stage.env, (4, 4), "after"))
    stage.recorder.array("다음 두 업데이트 뒤의 가중치", flat_state(model.state_dict(), model))


@driver.scenario("moments", "학습하던 AdamW의 상태", check="restored")
def _moments(stage: Stage) -> None:
    _next_update(stage, adamw, fresh=False)


@driver.scenario("momentum", "새 옵티마이저의 모멘텀", check="restored")
def _momentum(stage: Stage) -> None:
    _next_update(stage, lambda model: sgd(model, momentum=0.9), fresh=True)


@driver.scenario("gradients", "마지막 계층만 학습하는 옵티마이저", check="restored")
def _gradients(stage: Stage) -> None:
    """The optimizer holds the last layer alone: the others get gradients too, and no optimizer clears them."""
    model = mlp(stage.env)
    last: Any = model.layers[-1]
    opt = torch.optim.SGD(last.parameters(), lr=0.3)
    _record_losses(stage, _call(stage, model, opt, batches(stage.env, _SIZES), _rates(stage.env, 3)))
    stage.recorder.fact("남은 그레이디언트", stage.recorder.gradients_left())


class _Interruption(ValueError):
    """The exception of scenarios; no class that a program would look for."""


def _record_what_an_exception_leaves(
    stage: Stage, model: Net, opt: Optimizer, loss_fn: LossFn, expected: type[BaseException]
) -> None:
    """Record that the exception comes out, and what it leaves behind; model or loss must raise it at the third batch.

    The optimizer has moments already, and the model statistics if it has BatchNorm.
    """
    recorder = stage.recorder
    _trained(stage.env, model, opt)
    put_right = _remembered(model, opt)
    before = flat_state(model.state_dict(), model)
    recorder.watch(model, opt, states=False)
    recorder.record_raised(
        expected,
        "예외",
        stage.student("lr_range_test"),
        *(model, opt, loss_fn, batches(stage.env, _SIZES), _rates(stage.env, 4)),
    )
    _record_model(stage, model, before)
    recorder.array("끝난 뒤의 학습률", [float(group["lr"]) for group in opt.param_groups])
    recorder.fact("남은 그레이디언트", recorder.gradients_left())
    _record_that_it_looked(stage, 3)
    put_right()
    _record_next_update(stage, model, opt)


def _loss_raises(stage: Stage, exception: type[BaseException]) -> None:
    """Let the loss function raise, in a run with BatchNorm, dropout and momentum."""
    smooth = loss_function(stage.env)

    def loss_fn(output: Tensor, target: Tensor) -> Tensor:
        if len(target) == _SIZES[2]:
            raise exception("손실 함수가 낸 예외")
        return smooth(output, target)

    model = norm_dropout_mlp(stage.env)
    _record_what_an_exception_leaves(stage, model, sgd(model, momentum=0.9), loss_fn, exception)


@driver.scenario("interrupted", "도중에 예외가 날 때")
def _interrupted(stage: Stage) -> None:
    """An ordinary exception half-way."""
    _loss_raises(stage, _Interruption)


@driver.scenario("ctrl-c", "도중에 Ctrl+C로 멈출 때", check="interrupted")
def _ctrl_c(stage: Stage) -> None:
    """A KeyboardInterrupt is how people stop a test that takes too long; `except Exception` does not see it."""
    _loss_raises(stage, KeyboardInterrupt)


class _FailsBackward(nn.Module):
    """Passes inputs on, and raises in the backward pass of the third batch."""

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the inputs."""
        if inputs.requires_grad and len(inputs) == _SIZES[2]:
            inputs.register_hook(_raise)
        return inputs


def _raise(_: Tensor) -> None:
    raise _Interruption("역전파가 낸 예외")


@driver.scenario("failed-backward", "역전파하다가 예외가 날 때", check="interrupted")
def _failed_backward(stage: Stage) -> None:
    """The last layer has its gradient by then. When the loss raises, many programs have just cleared the gradients.

    It is played on the CPU: on a GPU, the hook would raise in a thread of autograd.
    """
    stage = replace(stage, env=replace(stage.env, device=torch.device("cpu")))
    layers = [nn.Linear(FEATURES, HIDDEN), _FailsBackward(), nn.Tanh(), nn.Linear(HIDDEN, CLASSES)]
    model = initialize(Net(layers), stage.env, "model")
    opt = sgd(model, momentum=0.9)
    _record_what_an_exception_leaves(stage, model, opt, loss_function(stage.env), _Interruption)
